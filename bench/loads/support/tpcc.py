# SPDX-License-Identifier: Apache-2.0
"""TPC-C's consistency conditions 1 to 4 (specification, clause 3.3.2), for every database that holds its tables."""
from command import Failure

CONDITIONS = {
    "W_YTD = sum(D_YTD)":
        "SELECT COUNT(*) FROM warehouse JOIN (SELECT d_w_id, SUM(d_ytd) AS total FROM district GROUP BY d_w_id) AS d"
        " ON d_w_id = w_id WHERE ABS(w_ytd - total) > 0.005",
    "D_NEXT_O_ID - 1 = max(O_ID)":
        "SELECT COUNT(*) FROM district JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last FROM orders"
        " GROUP BY o_w_id, o_d_id) AS o ON o_w_id = d_w_id AND o_d_id = d_id WHERE d_next_o_id - 1 <> last",
    "max(NO_O_ID) - min(NO_O_ID) + 1 = number of new orders":
        "SELECT COUNT(*) FROM (SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id"
        " HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) AS n",
    "sum(O_OL_CNT) = number of order lines":
        "SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS lines_said FROM orders"
        " GROUP BY o_w_id, o_d_id) AS o"
        " JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS lines_there FROM order_line GROUP BY ol_w_id, ol_d_id) AS l"
        " ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE lines_said <> lines_there",
}


def check(query):
    """`query` runs one SELECT and returns its output."""
    if int(query("SELECT COUNT(*) FROM district").strip()) == 0:
        raise Failure("TPC-C's tables are empty")
    for condition, text in CONDITIONS.items():
        broken = int(query(text).strip())
        if broken:
            raise Failure(f"TPC-C's condition {condition} does not hold in {broken} places")
