package platform

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const maxStat = 4 << 10

func readProcess(pid int) (Process, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	f, err := os.Open(filepath.Join(dir, "stat"))
	if err != nil {
		return Process{}, fmt.Errorf("reading process: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxStat))
	if err != nil {
		return Process{}, fmt.Errorf("reading process: %w", err)
	}
	p, err := parseStat(data)
	if err != nil {
		return Process{}, fmt.Errorf("reading process %d: %w", pid, err)
	}
	if p.PID != pid {
		return Process{}, fmt.Errorf("reading process %d: it says %d", pid, p.PID)
	}
	if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil { // not ours to read: stays empty
		p.Exe = strings.TrimSuffix(exe, " (deleted)")
	}
	return p, nil
}

// Fields of /proc/PID/stat counted from the one after the command's name;
// proc(5) numbers them from 3.
const (
	statParent  = 1
	statSession = 3
	statTTY     = 4
	statStart   = 19
)

// parseStat reads a line of /proc/PID/stat. The command's name, which the
// process chooses, may hold spaces and parentheses: it ends at the last ')'.
func parseStat(data []byte) (Process, error) {
	open, shut := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || shut < open {
		return Process{}, fmt.Errorf("decoding stat: no command name")
	}
	fields := strings.Fields(string(data[shut+1:]))
	if len(fields) <= statStart {
		return Process{}, fmt.Errorf("decoding stat: %d fields", len(fields))
	}
	var p Process
	var err error
	number := func(s string) int {
		n, e := strconv.ParseInt(s, 10, 32)
		if e != nil || n < 0 {
			err = fmt.Errorf("decoding stat: field %q", s)
		}
		return int(n)
	}
	p.PID = number(strings.TrimSpace(string(data[:open])))
	p.Parent = number(fields[statParent])
	p.Session = number(fields[statSession])
	tty, e := strconv.ParseInt(fields[statTTY], 10, 32) // signed since major numbers may be large
	if e != nil {
		err = fmt.Errorf("decoding stat: terminal %q", fields[statTTY])
	}
	p.TTY = ttyName(uint32(tty))
	if p.StartTime, e = strconv.ParseUint(fields[statStart], 10, 64); e != nil {
		err = fmt.Errorf("decoding stat: start time %q", fields[statStart])
	}
	if err != nil {
		return Process{}, err
	}
	return p, nil
}

// ttyName names a terminal by its device number.
func ttyName(dev uint32) string {
	major := dev >> 8 & 0xfff
	minor := dev&0xff | dev>>12&0xfff00
	switch {
	case dev == 0:
		return ""
	case major >= 136 && major <= 143:
		return fmt.Sprintf("pts/%d", (major-136)<<20|minor)
	case major == 4 && minor < 64:
		return fmt.Sprintf("tty%d", minor)
	}
	return fmt.Sprintf("%d:%d", major, minor)
}
