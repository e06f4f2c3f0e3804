CREATE TABLE study (id TEXT NOT NULL, title TEXT NOT NULL, secret BLOB NOT NULL);
CREATE TABLE question (number INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE);
CREATE TABLE participant (
    id TEXT PRIMARY KEY,
    follows INTEGER NOT NULL CHECK (follows IN (0, 1)),
    attention TEXT NOT NULL CHECK (attention IN ('closely', 'headlines', 'little'))
);
CREATE TABLE answer (
    participant TEXT NOT NULL REFERENCES participant (id),
    question INTEGER NOT NULL REFERENCES question (number),
    first TEXT NOT NULL CHECK (first IN ('concept', 'topic')),
    chosen TEXT NOT NULL CHECK (chosen IN ('first', 'second', 'neither')),
    PRIMARY KEY (participant, question)
);
CREATE TABLE task (number INTEGER PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE choice (
    participant TEXT NOT NULL REFERENCES participant (id),
    task INTEGER NOT NULL REFERENCES task (number),
    chosen INTEGER NOT NULL CHECK (chosen >= 0),
    PRIMARY KEY (participant, task)
);
