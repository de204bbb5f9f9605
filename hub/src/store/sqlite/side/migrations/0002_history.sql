-- Machines with a past.
CREATE TABLE history_node (
    id   INTEGER PRIMARY KEY,
    node TEXT NOT NULL UNIQUE
) STRICT;

-- What a machine did in the `width` ms from `ts` on: minutes, quarter hours and quarter days.
CREATE TABLE history (
    node  INTEGER NOT NULL REFERENCES history_node (id),
    width INTEGER NOT NULL,
    ts    INTEGER NOT NULL,
    data  TEXT NOT NULL,
    PRIMARY KEY (node, width, ts)
) STRICT, WITHOUT ROWID;
