-- SPDX-License-Identifier: Apache-2.0
-- TPC-C for sysbench 1.0: the nine tables and five transactions of the specification (revision 5.11), its mix, its
-- NURand and its 1 % of rolled back orders; no terminals' think time. Indexes stand in for the foreign keys that need
-- them.
--   sysbench tpcc.lua --warehouses=4 [connection] create|fill|index|run      in this order; fill and run take --threads
-- --divide=N makes a warehouse N times smaller: customers, orders and items.

sysbench.cmdline.options = {
    warehouses = {"warehouses", 4},
    divide = {"divide customers, orders and items by this", 1},
}

local DISTRICTS = 10
local bor = bit.bor
local uniform = sysbench.rand.uniform
local opt -- of the command line; sysbench fills it in after this file is loaded
local size -- {customers, items, customer_a, item_a}, see sizes()
local con

-- Nonuniform numbers (clause 2.1.6): `a` is scaled with its range, as 1023 is for 3,000 and 8191 for 100,000.
local function sizes()
    local function mask(full, divided)
        local a = 1
        while a * 2 + 1 <= full / divided do a = a * 2 + 1 end
        return a
    end
    return {
        customers = math.max(10, math.floor(3000 / opt.divide)),
        items = math.max(100, math.floor(100000 / opt.divide)),
        customer_a = mask(1023, opt.divide),
        item_a = mask(8191, opt.divide),
    }
end

local function nurand(a, first, last)
    return (bor(uniform(0, a), uniform(first, last)) + math.floor(a / 3)) % (last - first + 1) + first
end

local SYLLABLES = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

local function last_name(number)
    return SYLLABLES[math.floor(number / 100) + 1] .. SYLLABLES[math.floor(number / 10) % 10 + 1]
        .. SYLLABLES[number % 10 + 1]
end

-- A random piece of one long random text: as incompressible as the specification's and a hundred times cheaper.
local text
local function filler(shortest, longest)
    if not text then
        local letters = {}
        for i = 1, 20000 do letters[i] = string.char(uniform(97, 122)) end
        text = table.concat(letters)
    end
    local from = uniform(1, 20000 - 1000)
    return text:sub(from, from + uniform(shortest, longest or shortest) - 1)
end

local function zip() return string.format("%04d11111", uniform(0, 9999)) end

local function data_text() -- a tenth is "ORIGINAL" (clause 4.3.3.1)
    local value = filler(26, 50)
    return uniform(1, 10) == 1 and "ORIGINAL" .. value:sub(9) or value
end

local function address()
    return string.format("'%s','%s','%s','%s','%s'", filler(10, 20), filler(10, 20), filler(10, 20), filler(2), zip())
end

-- ---- tables

local ADDRESS = [[%s_street_1 VARCHAR(20), %s_street_2 VARCHAR(20), %s_city VARCHAR(20), %s_state CHAR(2),
    %s_zip CHAR(9)]]

local TABLES = {
    [[warehouse (w_id SMALLINT NOT NULL, w_name VARCHAR(10), ]] .. ADDRESS:gsub("%%s", "w") .. [[,
        w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2), PRIMARY KEY (w_id))]],
    [[district (d_id SMALLINT NOT NULL, d_w_id SMALLINT NOT NULL,
        d_name VARCHAR(10), ]] .. ADDRESS:gsub("%%s", "d") .. [[,
        d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id))]],
    [[customer (c_id INT NOT NULL, c_d_id SMALLINT NOT NULL, c_w_id SMALLINT NOT NULL, c_first VARCHAR(16),
        c_middle CHAR(2), c_last VARCHAR(16), ]] .. ADDRESS:gsub("%%s", "c") .. [[, c_phone CHAR(16),
        c_since TIMESTAMP NULL, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4),
        c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt SMALLINT, c_delivery_cnt SMALLINT,
        c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id))]],
    [[history (h_c_id INT, h_c_d_id SMALLINT, h_c_w_id SMALLINT, h_d_id SMALLINT, h_w_id SMALLINT,
        h_date TIMESTAMP NULL, h_amount DECIMAL(6,2), h_data VARCHAR(24))]],
    [[new_order (no_o_id INT NOT NULL, no_d_id SMALLINT NOT NULL, no_w_id SMALLINT NOT NULL,
        PRIMARY KEY (no_w_id, no_d_id, no_o_id))]],
    [[orders (o_id INT NOT NULL, o_d_id SMALLINT NOT NULL, o_w_id SMALLINT NOT NULL, o_c_id INT,
        o_entry_d TIMESTAMP NULL, o_carrier_id SMALLINT, o_ol_cnt SMALLINT, o_all_local SMALLINT,
        PRIMARY KEY (o_w_id, o_d_id, o_id))]],
    [[order_line (ol_o_id INT NOT NULL, ol_d_id SMALLINT NOT NULL, ol_w_id SMALLINT NOT NULL,
        ol_number SMALLINT NOT NULL, ol_i_id INT, ol_supply_w_id SMALLINT, ol_delivery_d TIMESTAMP NULL,
        ol_quantity SMALLINT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24),
        PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))]],
    [[item (i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50),
        PRIMARY KEY (i_id))]],
    [[stock (s_i_id INT NOT NULL, s_w_id SMALLINT NOT NULL, s_quantity SMALLINT, s_dist_01 CHAR(24), s_dist_02 CHAR(24),
        s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24),
        s_dist_08 CHAR(24), s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd DECIMAL(8,0), s_order_cnt SMALLINT,
        s_remote_cnt SMALLINT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id))]],
}

local INDEXES = {
    "customer_name ON customer (c_w_id, c_d_id, c_last, c_first)",
    "orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
    "history_customer ON history (h_c_w_id, h_c_d_id, h_c_id)",
    "history_district ON history (h_w_id, h_d_id)",
    "stock_item ON stock (s_i_id)",
    "order_line_stock ON order_line (ol_supply_w_id, ol_i_id)",
}

local function connect()
    opt = sysbench.opt
    size = sizes()
    con = sysbench.sql.driver():connect()
end

local function create()
    connect()
    for _, definition in ipairs(TABLES) do con:query("CREATE TABLE " .. definition) end
end

local function index()
    connect()
    for _, definition in ipairs(INDEXES) do con:query("CREATE INDEX " .. definition) end
end

local function bulk(what, rows)
    con:bulk_insert_init("INSERT INTO " .. what .. " VALUES")
    rows(function(...) con:bulk_insert_next("(" .. string.format(...) .. ")") end)
    con:bulk_insert_done()
end

local function fill_items()
    bulk("item", function(row)
        for i = 1, size.items do
            row("%d,%d,'%s',%.2f,'%s'", i, uniform(1, 10000), filler(14, 24), uniform(100, 10000) / 100, data_text())
        end
    end)
end

local function fill_stock(w)
    bulk("stock", function(row)
        for i = 1, size.items do
            local info = {}
            for d = 1, DISTRICTS do info[d] = filler(24) end
            row("%d,%d,%d,'%s',0,0,0,'%s'", i, w, uniform(10, 100), table.concat(info, "','"), data_text())
        end
    end)
end

local function fill_customers(w, d)
    bulk("customer", function(row)
        for c = 1, size.customers do
            local name = c <= 1000 and c - 1 or nurand(255, 0, 999)
            row("%d,%d,%d,'%s','OE','%s',%s,'%016d',NOW(),'%s',50000,%.4f,-10,10,1,0,'%s'", c, d, w, filler(8, 16),
                last_name(name), address(), uniform(0, 999999999), uniform(1, 10) == 1 and "BC" or "GC",
                uniform(0, 5000) / 10000, filler(300, 500))
        end
    end)
    bulk("history", function(row)
        for c = 1, size.customers do row("%d,%d,%d,%d,%d,NOW(),10,'%s'", c, d, w, d, w, filler(12, 24)) end
    end)
end

-- Each customer has one order; the last 30 % are not delivered yet (clause 4.3.3.1).
local function fill_orders(w, d)
    local customer, lines, delivered = {}, {}, math.floor(size.customers * 0.7)
    for o = 1, size.customers do customer[o], lines[o] = o, uniform(5, 15) end
    for o = size.customers, 2, -1 do
        local other = uniform(1, o)
        customer[o], customer[other] = customer[other], customer[o]
    end
    bulk("orders", function(row)
        for o = 1, size.customers do
            row("%d,%d,%d,%d,NOW(),%s,%d,1", o, d, w, customer[o], o <= delivered and uniform(1, 10) or "NULL",
                lines[o])
        end
    end)
    bulk("order_line", function(row)
        for o = 1, size.customers do
            local old = o <= delivered
            for l = 1, lines[o] do
                row("%d,%d,%d,%d,%d,%d,%s,5,%.2f,'%s'", o, d, w, l, uniform(1, size.items), w,
                    old and "NOW()" or "NULL", old and 0 or uniform(1, 999999) / 100, filler(24))
            end
        end
    end)
    bulk("new_order", function(row)
        for o = delivered + 1, size.customers do row("%d,%d,%d", o, d, w) end
    end)
end

local function fill_warehouse(w)
    bulk("warehouse", function(row)
        row("%d,'%s',%s,%.4f,300000", w, filler(6, 10), address(), uniform(0, 2000) / 10000)
    end)
    bulk("district", function(row)
        for d = 1, DISTRICTS do
            row("%d,%d,'%s',%s,%.4f,30000,%d", d, w, filler(6, 10), address(), uniform(0, 2000) / 10000,
                size.customers + 1)
        end
    end)
    fill_stock(w)
    for d = 1, DISTRICTS do
        fill_customers(w, d)
        fill_orders(w, d)
    end
end

local function fill()
    connect()
    if sysbench.tid % opt.threads == 0 then fill_items() end
    for w = sysbench.tid % opt.threads + 1, opt.warehouses, opt.threads do fill_warehouse(w) end
end

sysbench.cmdline.commands = {
    create = {create},
    fill = {fill, sysbench.cmdline.PARALLEL_COMMAND},
    index = {index},
}

-- ---- transactions (clause 2)

local function query(...) return con:query(string.format(...)) end
local function row(...) return con:query_row(string.format(...)) end

local function some_customer() return nurand(size.customer_a, 1, size.customers) end
local function some_name() return last_name(nurand(255, 0, math.min(1000, size.customers) - 1)) end

local function other_warehouse(w)
    if opt.warehouses == 1 then return w end
    local other = uniform(1, opt.warehouses - 1)
    return other < w and other or other + 1
end

local function order_lines(w)
    local lines, local_only = {}, 1
    for l = 1, uniform(5, 15) do
        lines[l] = {item = nurand(size.item_a, 1, size.items), supply = w, quantity = uniform(1, 10)}
        if uniform(1, 100) == 1 then
            lines[l].supply = other_warehouse(w)
            if lines[l].supply ~= w then local_only = 0 end
        end
    end
    if uniform(1, 100) == 1 then lines[#lines].item = size.items + 1 end -- no such item: rolled back
    -- In one order, so that two orders seldom wait for each other in a circle.
    table.sort(lines, function(a, b)
        if a.supply ~= b.supply then return a.supply < b.supply end
        return a.item < b.item
    end)
    return lines, local_only
end

local function order_one(w, d, o, number, line)
    local price = row("SELECT i_price FROM item WHERE i_id = %d", line.item)
    if not price then return false end
    local quantity, info = row("SELECT s_quantity, s_dist_%02d FROM stock WHERE s_i_id = %d AND s_w_id = %d FOR UPDATE",
        d, line.item, line.supply)
    local left = tonumber(quantity) - line.quantity
    if left < 10 then left = left + 91 end
    query([[UPDATE stock SET s_quantity = %d, s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + %d WHERE s_i_id = %d AND s_w_id = %d]], left, line.quantity,
        line.supply ~= w and 1 or 0, line.item, line.supply)
    query("INSERT INTO order_line VALUES (%d,%d,%d,%d,%d,%d,NULL,%d,%.2f,'%s')", o, d, w, number, line.item,
        line.supply, line.quantity, line.quantity * tonumber(price), info)
    return true
end

local new_orders = 0

local function new_order()
    local w, d, c = uniform(1, opt.warehouses), uniform(1, DISTRICTS), some_customer()
    local lines, local_only = order_lines(w)
    con:query("BEGIN")
    row([[SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse
        WHERE w_id = %d AND c_w_id = %d AND c_d_id = %d AND c_id = %d]], w, w, d, c)
    local o = tonumber((row("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = %d AND d_id = %d FOR UPDATE",
        w, d)))
    query("UPDATE district SET d_next_o_id = %d WHERE d_w_id = %d AND d_id = %d", o + 1, w, d)
    query("INSERT INTO orders VALUES (%d,%d,%d,%d,NOW(),NULL,%d,%d)", o, d, w, c, #lines, local_only)
    query("INSERT INTO new_order VALUES (%d,%d,%d)", o, d, w)
    for number, line in ipairs(lines) do
        if not order_one(w, d, o, number, line) then
            con:query("ROLLBACK")
            return
        end
    end
    con:query("COMMIT")
    new_orders = new_orders + 1
end

-- The middle one of a last name, or one by number (clause 2.5.1.2). nil: nobody has that name.
local function find_customer(w, d)
    if uniform(1, 100) > 60 then return some_customer() end
    local name = some_name()
    local count = tonumber((row("SELECT COUNT(*) FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s'", w,
        d, name)))
    if count == 0 then return nil end
    return tonumber((row([[SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s'
        ORDER BY c_first LIMIT 1 OFFSET %d]], w, d, name, math.floor((count - 1) / 2))))
end

local function pay(w, d, c, amount, paid_w, paid_d)
    local credit = row("SELECT c_credit FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d FOR UPDATE",
        w, d, c)
    local data = ""
    if credit == "BC" then
        data = string.format(", c_data = SUBSTR(CONCAT('%d %d %d %d %d %.2f|', c_data), 1, 500)", c, d, w, paid_d,
            paid_w, amount)
    end
    query([[UPDATE customer SET c_balance = c_balance - %.2f, c_ytd_payment = c_ytd_payment + %.2f,
        c_payment_cnt = c_payment_cnt + 1%s WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d]], amount, amount, data,
        w, d, c)
end

local function payment()
    local w, d = uniform(1, opt.warehouses), uniform(1, DISTRICTS)
    local customer_w, customer_d, amount = w, d, uniform(100, 500000) / 100
    if uniform(1, 100) <= 15 then customer_w, customer_d = other_warehouse(w), uniform(1, DISTRICTS) end
    con:query("BEGIN")
    query("UPDATE warehouse SET w_ytd = w_ytd + %.2f WHERE w_id = %d", amount, w)
    local w_name = row("SELECT w_name FROM warehouse WHERE w_id = %d", w)
    query("UPDATE district SET d_ytd = d_ytd + %.2f WHERE d_w_id = %d AND d_id = %d", amount, w, d)
    local d_name = row("SELECT d_name FROM district WHERE d_w_id = %d AND d_id = %d", w, d)
    local c = find_customer(customer_w, customer_d) or some_customer()
    pay(customer_w, customer_d, c, amount, w, d)
    query("INSERT INTO history VALUES (%d,%d,%d,%d,%d,NOW(),%.2f,'%s    %s')", c, customer_d, customer_w, d, w, amount,
        w_name, d_name)
    con:query("COMMIT")
end

local function order_status()
    local w, d = uniform(1, opt.warehouses), uniform(1, DISTRICTS)
    con:query("BEGIN")
    local c = find_customer(w, d) or some_customer()
    row("SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
        w, d, c)
    local o = row([[SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %d
        ORDER BY o_id DESC LIMIT 1]], w, d, c)
    if o then
        query([[SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
            WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d]], w, d, tonumber(o))
    end
    con:query("COMMIT")
end

local function deliver(w, d, carrier)
    local oldest = row([[SELECT no_o_id FROM new_order WHERE no_w_id = %d AND no_d_id = %d
        ORDER BY no_o_id LIMIT 1 FOR UPDATE]], w, d)
    if not oldest then return end
    local o = tonumber(oldest)
    query("DELETE FROM new_order WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %d", w, d, o)
    local c = tonumber((row("SELECT o_c_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", w, d, o)))
    query("UPDATE orders SET o_carrier_id = %d WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", carrier, w, d, o)
    query("UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, o)
    local total = row("SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d",
        w, d, o)
    query([[UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d]], total, w, d, c)
end

local function delivery()
    local w, carrier = uniform(1, opt.warehouses), uniform(1, 10)
    con:query("BEGIN")
    for d = 1, DISTRICTS do deliver(w, d, carrier) end
    con:query("COMMIT")
end

local function stock_level()
    local w, d = uniform(1, opt.warehouses), uniform(1, DISTRICTS)
    con:query("BEGIN")
    local o = tonumber((row("SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d", w, d)))
    query([[SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id < %d
        AND ol_o_id >= %d AND s_w_id = %d AND s_i_id = ol_i_id AND s_quantity < %d]], w, d, o, o - 20, w,
        uniform(10, 20))
    con:query("COMMIT")
end

function thread_init() connect() end

function thread_done() io.write("tpcc: new orders " .. new_orders .. "\n") end

-- The mix of clause 5.2.3, in percent: 45, 43, 4, 4, 4.
function event()
    local ticket = uniform(1, 100)
    if ticket <= 45 then new_order()
    elseif ticket <= 88 then payment()
    elseif ticket <= 92 then order_status()
    elseif ticket <= 96 then delivery()
    else stock_level() end
end

-- A deadlock's loser begins anew with another transaction.
function sysbench.hooks.before_restart_event() con:query("ROLLBACK") end
