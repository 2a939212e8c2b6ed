// SPDX-License-Identifier: Apache-2.0
// The JVM adapter's pure parts: names that every JDK gives alike, and the agent's options.
#include "support/catch.hpp"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <tributary/signature.h>

#ifdef HAVE_JVM
#include "options.h"
#include "path/names.h"

namespace {

std::string name_of(const char *signature) {
    char name[TRIB_JAVA_NAME_BYTES];
    trib_java_class_name(signature, name, sizeof name);
    return name;
}

trib_jvm_options parsed(const char *text) {
    trib_jvm_options options{};
    trib_error error{};
    INFO(text);
    REQUIRE(trib_jvm_options_parse(text, &options, &error) == 0);
    return options;
}

std::string refused(const char *text, trib_jvm_options *options) {
    trib_error error{};
    INFO(text);
    REQUIRE(trib_jvm_options_parse(text, options, &error) == -EINVAL);
    return error.text;
}

} // namespace

TEST_CASE("class names are the same in every run and release") {
    const std::vector<std::pair<const char *, const char *>> cases = {
        {"Lorg/apache/cassandra/io/util/SequentialWriter;", "org.apache.cassandra.io.util.SequentialWriter"},
        {"LStore;", "Store"},
        {"Lorg/x/Foo$Bar$1;", "org.x.Foo$Bar$1"},
        {"Lorg/x/Foo$$Lambda$14.0x0000000800c03000;", "org.x.Foo$$Lambda$14"}, // 17
        {"Lorg/x/Foo$$Lambda.0x00007f1b2c003200;", "org.x.Foo$$Lambda"},       // 21, 25
        {"Lorg/x/Foo$$Lambda$14/0x0000000800c03000;", "org.x.Foo$$Lambda$14"}, // 11
        {"Lorg/x/Service$$EnhancerBySpringCGLIB$$5a3f;", "org.x.Service"},
        {"Lorg/x/Service$$SpringCGLIB$$0;", "org.x.Service"},
        {"Lorg/x/Entity$ByteBuddy$a8Zt9;", "org.x.Entity"},
        {"L$ByteBuddy$a8Zt9;", "$ByteBuddy$a8Zt9"}, // what would be left is no name
    };
    for (const auto &[signature, name] : cases)
        CHECK(name_of(signature) == name);
    char small[8];
    trib_java_class_name("Lorg/example/Store;", small, sizeof small);
    CHECK(std::string(small) == "org.exa");
}

TEST_CASE("noise is what says how code is run, not what it is for") {
    for (const char *name : {"java.lang.Thread", "java.util.concurrent.FutureTask", "sun.nio.ch.IOUtil",
                             "jdk.internal.reflect.GeneratedMethodAccessor7", "com.sun.proxy.$Proxy12",
                             "jdk.proxy2.$Proxy12", "org.x.$Proxy3", "javax.management.MBeanServer",
                             "org.x.Foo$$Lambda$14", "org.x.Foo$$Lambda", "java.lang.invoke.LambdaForm$MH"})
        CHECK(trib_java_is_noise(name));
    for (const char *name :
         {"org.apache.cassandra.io.util.SequentialWriter", "Store", "javassist.Loader", "sunny.Day", "org.x.$Proxy",
          "org.x.$ProxyFactory1", "org.x.My$Proxy3x", "org.x.$Proxy3x", "$Proxy3x", "com.sunny.Day"})
        CHECK_FALSE(trib_java_is_noise(name));
}

TEST_CASE("a logging framework is known by its package") {
    CHECK(trib_java_logger("ch.qos.logback.core.joran.spi.ConsoleTarget$1") == std::string("ch.qos.logback"));
    CHECK(trib_java_logger("java.util.logging.StreamHandler") == std::string("java.util.logging"));
    CHECK(trib_java_logger("org.apache.logging.log4j.core.appender.OutputStreamManager") ==
          std::string("org.apache.logging.log4j"));
    for (const char *name : {"org.apache.log4jet.Store", "ch.qos.logbacking", "java.util.Log",
                             "org.apache.cassandra.db.commitlog.CommitLog"})
        CHECK(trib_java_logger(name) == nullptr);
}

TEST_CASE("agent options: commands, own keys, and what is the pipeline's") {
    trib_jvm_options options = parsed("");
    CHECK(options.command == TRIB_JVM_START);
    CHECK((options.innermost == 1 && options.outermost == 6 && !options.full && options.fast && !options.strict));
    options = parsed("trace=/var/tmp/a.trib,path=full,policy=pcstream,fast=off,strict=1,outermost=8,innermost=3");
    CHECK(std::string(options.pipeline) == "trace=/var/tmp/a.trib,policy=pcstream");
    CHECK((options.full && !options.fast && options.strict));
    CHECK((options.innermost == 3 && options.outermost == 8));
    options = parsed("fast=check");
    CHECK((options.fast && options.check));
    CHECK(parsed("stop").command == TRIB_JVM_STOP);
    options = parsed("dump,file=/var/tmp/dump");
    CHECK(options.command == TRIB_JVM_DUMP);
    CHECK(std::string(options.file) == "/var/tmp/dump");
    CHECK(parsed("status,policy=none").command == TRIB_JVM_STATUS);
    CHECK(std::string(parsed("policy=none,stop").pipeline) == "policy=none");
    CHECK(parsed("strict=yes").strict);
    for (const char *wrong : {"path=half", "halt", "fast", "innermost=33", "outermost=-1", "strict=perhaps",
                              "innermost=0,outermost=0", "path=full,path=ends"})
        CHECK(refused(wrong, &options).rfind("option", 0) == 0);
    refused("strict=1,bogus", &options);
    CHECK(options.strict);
    refused("bogus,strict=1", &options); // wherever it stands
    CHECK(options.strict);
    const std::string endless = "trace=" + std::string(5000, 'x');
    refused(endless.c_str(), &options);
}
#endif

TEST_CASE("named frames: equal names, equal frames; people read the name") {
    trib_frame first{}, same{}, other{};
    CHECK(trib_signature_named_frame("java:org.x.Foo.write([BII)V", &first) == 0);
    CHECK(trib_signature_named_frame("java:org.x.Foo.write([BII)V", &same) == 0);
    CHECK(trib_signature_named_frame("java:org.x.Foo.write(I)V", &other) == 0);
    CHECK(trib_signature_named_frame("org.x.Foo.write", &other) == -EINVAL);
    CHECK((first.build_id == same.build_id && first.module == same.module));
    CHECK((first.build_id != other.build_id && first.module != other.module));

    trib_module module{};
    char text[128];
    REQUIRE(trib_signature_module(first.module, &module) == 0);
    CHECK(module.build_id_hash == first.build_id);
    CHECK(trib_signature_symbolise(&module, 0, text, sizeof text) == strlen("org.x.Foo.write"));
    CHECK(std::string(text) == "org.x.Foo.write");
}

TEST_CASE("a composed path: order counts, frames come back, deep ones keep both ends") {
    std::vector<trib_frame> frames(100);
    for (size_t i = 0; i < frames.size(); i++)
        REQUIRE(trib_signature_named_frame(("java:deep.M" + std::to_string(i) + ".f()V").c_str(), &frames[i]) == 0);
    CHECK(trib_signature_of_frames(nullptr, 0) == TRIB_SIGNATURE_UNKNOWN);
    const uint64_t two = trib_signature_of_frames(frames.data(), 2);
    std::swap(frames[0], frames[1]);
    CHECK(trib_signature_of_frames(frames.data(), 2) != two);
    std::swap(frames[0], frames[1]);
    CHECK(trib_signature_of_frames(frames.data(), 2) == two);

    trib_frame found[TRIB_SIGNATURE_DEPTH_MAX]{};
    REQUIRE(trib_signature_frames(two, found, TRIB_SIGNATURE_DEPTH_MAX) == 2);
    CHECK(found[1].build_id == frames[1].build_id);
    const uint64_t deep = trib_signature_of_frames(frames.data(), 100);
    std::swap(frames[50], frames[51]); // in the middle: not shown, but another path
    CHECK(trib_signature_of_frames(frames.data(), 100) != deep);
    REQUIRE(trib_signature_frames(deep, found, TRIB_SIGNATURE_DEPTH_MAX) == TRIB_SIGNATURE_DEPTH_MAX);
    CHECK(found[0].build_id == frames[0].build_id);
    CHECK(found[TRIB_SIGNATURE_DEPTH_MAX - 1].build_id == frames[99].build_id);
}
