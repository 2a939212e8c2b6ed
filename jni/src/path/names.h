/* SPDX-License-Identifier: Apache-2.0 */
/* Names of Java methods, the same in every run and on every JDK. Pure functions. */
#ifndef TRIB_JVM_NAMES_H
#define TRIB_JVM_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_JAVA_NAME_BYTES 1024u

/* A class signature of JVMTI ("Lorg/x/Foo$Bar;") as people write it ("org.x.Foo$Bar"), without what generators
 * number: addresses of hidden classes and the tails of CGLIB, Byte Buddy and Mockito classes. Cut at `capacity`. */
void trib_java_class_name(const char *signature, char *name, size_t capacity);

/* Frames that say how code is run and not what it is for: the JDK's own classes, lambda and proxy classes, generated
 * accessors. `name` is from trib_java_class_name. */
bool trib_java_is_noise(const char *name);

/* The logging framework that the class belongs to, as "ch.qos.logback"; NULL: to none. */
const char *trib_java_logger(const char *name);

TRIB_C_END
#endif
