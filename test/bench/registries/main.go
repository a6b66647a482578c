// Command registries measures what it takes to install one connector from a large
// registry: bytes on the wire, time, memory, and what a person has to do; beside
// plain clones of the same repository, and beside krew with an index of as many
// plugins of the same size, and helm with a signed plugin of that size. "make bench-registry" runs it.
//
// The registry is generated with real keys and the maintainer's own code
// (generate.go), and served by Git's own server over https, by a program that
// counts (serve.go). Start at measure.go for what is measured and in which order.
//
// What a program can't do here is in the table as its error, and never left out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/drawbridge-mcp/drawbridge/test/bench/results"
)

// The flags.
type options struct {
	size   size
	rounds int
	dir    string // where the generated registry stays for a next run, or empty
	only   bool   // generate, measure nothing
	krew   string // its program, or empty
	helm   string // likewise
	out    results.Output
}

// name is what errors begin with.
const name = "bench-registry"

func main() {
	play()
	var o options
	flag.IntVar(&o.size.Connectors, "connectors", 500, "how many connectors the registry has")
	flag.IntVar(&o.size.Versions, "versions", 5, "how many versions each of them has")
	flag.IntVar(&o.size.Module, "module", 1_000_000, "bytes of each module")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each is measured, in turn, with everything new")
	flag.StringVar(&o.dir, "dir", "", "generate into this folder, and use what an earlier run generated there")
	flag.BoolVar(&o.only, "generate", false, "generate into -dir, and measure nothing")
	flag.StringVar(&o.krew, "krew", "", "the program krew")
	flag.StringVar(&o.helm, "helm", "", "the program helm")
	o.out.Flags(flag.CommandLine)
	flag.Parse()
	os.Exit(results.Main(name, func(ctx context.Context) error { return run(ctx, o, os.Stdout, os.Stderr) }))
}

// play does what this program was started by itself for, and ends.
func play() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == clientArg:
		os.Exit(results.Main(name, func(ctx context.Context) error { return playClient(ctx, os.Stdin, os.Stdout) }))
	case len(os.Args) == 3 && os.Args[1] == generateArg:
		os.Exit(results.Main(name, func(ctx context.Context) error { return playGenerate(ctx, os.Args[2], os.Stdin, os.Stdout, os.Stderr) }))
	}
}

func run(ctx context.Context, o options, stdout, progress io.Writer) (err error) {
	dir, err := os.MkdirTemp(o.dir, "drawbridge-registries-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.only {
		_, err := prepare(ctx, o, dir)
		return err
	}
	r, err := measure(ctx, o, dir, func(message string) { fmt.Fprintln(progress, message) })
	if err != nil {
		return err
	}
	return o.out.Write(stdout, "registries", r.table(), r)
}
