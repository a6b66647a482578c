package sandbox

import (
	"bytes"
	"io"
)

// A logWriter carries a guest's log to the host, in lines, until its budget is
// spent; then it says once that something is missing. One instance has one.
type logWriter struct {
	host    host
	left    int // bytes
	muted   bool
	full    bool
	streams []*logStream
}

const logTruncated = "log truncated"

// line sends one line. A failing pipe is met again by the next frame, which
// reports it.
func (l *logWriter) line(level, text string) {
	if l.muted || l.full {
		return
	}
	text = clip(text, maxLogLine)
	if len(text) > l.left {
		l.full = true
		_ = l.host.log("warn", logTruncated)
		return
	}
	l.left -= len(text)
	_ = l.host.log(level, text)
}

// stream returns a writer whose lines go to the log.
func (l *logWriter) stream(level string) io.Writer {
	s := &logStream{to: l, level: level}
	l.streams = append(l.streams, s)
	return s
}

// flush sends what has no line end yet.
func (l *logWriter) flush() {
	for _, s := range l.streams {
		if len(s.part) > 0 {
			l.line(s.level, string(s.part))
			s.part = nil
		}
	}
}

// A logStream is a guest's standard output or error.
type logStream struct {
	to    *logWriter
	level string
	part  []byte // of a line; at most maxLogLine
}

// Write never fails: a guest learns nothing from its log.
func (s *logStream) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		room := maxLogLine - len(s.part)
		s.part = append(s.part, line[:min(len(line), room)]...)
		if ended {
			s.to.line(s.level, string(s.part))
			s.part = s.part[:0]
		}
		p = rest
	}
	return n, nil
}
