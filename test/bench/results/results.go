// Package results is what the benchmarks have in common: how they end, where their
// numbers go, and what they say of the machine and of other programs.
package results

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Main runs a benchmark until it ends or is interrupted. It returns the exit code;
// name stands before the error.
func Main(name string, run func(context.Context) error) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: error: %v\n", name, err)
		return 1
	}
	return 0
}

// An Output is where a benchmark's numbers go beside standard output.
type Output struct {
	json, readme string // files; either may be empty
}

// Flags adds the flags that name the files.
func (o *Output) Flags(f *flag.FlagSet) {
	f.StringVar(&o.json, "out", "", "write the JSON to this file")
	f.StringVar(&o.readme, "readme", "", "put the table between the markers of this file")
}

// Write prints the table, and writes it and the numbers to the files. section names
// the table's markers.
func (o *Output) Write(stdout io.Writer, section, table string, numbers any) error {
	if _, err := io.WriteString(stdout, table); err != nil {
		return err
	}
	if o.json != "" {
		data, err := json.MarshalIndent(numbers, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(data, '\n'), 0o644); err != nil { //nolint:gosec // a report is for everybody to read
			return err
		}
	}
	if o.readme == "" {
		return nil
	}
	return replace(o.readme, section, table)
}

// Median is the middle value, the mean of the two in the middle, or 0 if there is
// none.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Machine is what numbers depend on, in words.
func Machine() string {
	return fmt.Sprintf("%s on %s/%s, %d CPUs", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// versionWord is a version in what a program prints.
var versionWord = regexp.MustCompile(`\bv?([0-9]+\.[0-9][0-9A-Za-z.+-]*)`)

// Version is a program's version: the one that it was built from, if it is a Go
// program of a released module, else what it prints when it is asked for it.
func Version(ctx context.Context, program string, ask ...string) string {
	if info, err := buildinfo.ReadFile(program); err == nil && strings.HasPrefix(info.Main.Version, "v") {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, ask...).Output() //nolint:gosec // the programs that are measured
	if m := versionWord.FindSubmatch(out); err == nil && m != nil {
		return string(m[1])
	}
	return "of an unknown version"
}
