package site

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestReadFrame(t *testing.T) {
	for _, c := range []struct {
		name string
		in   string
		op   byte
		text string
		err  error
	}{
		{"text", "\x81\x85\x01\x02\x03\x04" + "\x69\x67\x6f\x68\x6e", opText, "hello", nil},
		{"empty ping", "\x89\x80\x00\x00\x00\x00", opPing, "", nil},
		{"16 bit size", "\x81\xfe\x00\x02\x00\x00\x00\x00hi", opText, "hi", nil},
		{"64 bit size", "\x81\xff\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00hi", opText, "hi", nil},
		{"unmasked", "\x81\x05hello", 0, "", errBadFrame},
		{"fragment", "\x01\x80\x00\x00\x00\x00", 0, "", errBadFrame},
		{"reserved bit", "\xc1\x80\x00\x00\x00\x00", 0, "", errBadFrame},
		{"too large", "\x81\xff\x00\x00\x00\x00\x00\x01\x00\x01", 0, "", errBigFrame},
		{"negative", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff", 0, "", errBigFrame},
		{"nothing", "", 0, "", io.EOF},
		{"no size", "\x81", 0, "", io.ErrUnexpectedEOF},
		{"no long size", "\x81\xfe\x00", 0, "", io.ErrUnexpectedEOF},
		{"no mask", "\x81\x80\x00", 0, "", io.ErrUnexpectedEOF},
		{"cut off", "\x81\x85\x00\x00\x00\x00hel", 0, "", io.ErrUnexpectedEOF},
	} {
		op, text, err := readFrame(bytes.NewReader([]byte(c.in)))
		if op != c.op || string(text) != c.text || !errors.Is(err, c.err) {
			t.Errorf("%s: op %#x, %q, %v", c.name, op, text, err)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x81\x85\x01\x02\x03\x04\x69\x67\x6f\x68\x6e"))
	f.Add([]byte("\x81\xfe\x00\x02\x00\x00\x00\x00hi"))
	f.Add([]byte("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		_, payload, err := readFrame(bytes.NewReader(in))
		if err != nil && payload != nil {
			t.Errorf("a payload and the error %v", err)
		}
		if len(payload) > len(in) {
			t.Errorf("%d bytes out of %d", len(payload), len(in))
		}
	})
}
