// Command report runs the benchmarks and writes what they say as JSON and as the
// table of the README. Every ratio is of two things measured in turn in one run.
package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/test/bench/results"
)

// A line is one row of the table.
type line struct {
	What  string  `json:"what"`
	Ours  float64 `json:"ours"`
	Floor float64 `json:"floor,omitempty"`
	Unit  string  `json:"unit"`
	Ratio float64 `json:"ratio,omitempty"`
	Goal  string  `json:"goal,omitempty"`
	Note  string  `json:"note"`
}

// A report is the whole run.
type report struct {
	Go    string `json:"go"`
	OS    string `json:"os"`
	CPUs  int    `json:"cpus"`
	Lines []line `json:"lines"`
}

func main() {
	var out results.Output
	out.Flags(flag.CommandLine)
	flag.Parse()
	os.Exit(results.Main("bench", func(ctx context.Context) error { return run(ctx, out, os.Stdout, os.Stderr) }))
}

func run(ctx context.Context, out results.Output, stdout, progress io.Writer) error {
	r := report{Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU()}
	for _, step := range []struct {
		title string
		run   func(context.Context) ([]line, error)
	}{
		{"reading a page through the whole stack", extraction},
		{"MCP without a connector", overhead},
		{"tools/list", listing},
		{"a module in its worker", worker},
		{"memory of the daemon", memory},
	} {
		fmt.Fprintf(progress, "measuring: %s\n", step.title)
		lines, err := step.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
		r.Lines = append(r.Lines, lines...)
	}
	return out.Write(stdout, "bench", r.table(), r)
}

func (r report) table() string {
	var b strings.Builder
	b.WriteString("| what | drawbridge | floor | ratio | goal | how |\n|---|---|---|---|---|---|\n")
	for _, l := range r.Lines {
		floor, ratio := "", ""
		if l.Floor > 0 {
			floor = fmt.Sprintf("%.2f %s", l.Floor, l.Unit)
		}
		if l.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f×", l.Ratio)
		}
		fmt.Fprintf(&b, "| %s | %.2f %s | %s | %s | %s | %s |\n", l.What, l.Ours, l.Unit, floor, ratio, l.Goal, l.Note)
	}
	fmt.Fprintf(&b, "\nMeasured with %s on %s, %d CPUs.\n", r.Go, r.OS, r.CPUs)
	return b.String()
}

// series maps a benchmark's name, without its number of CPUs, to the values of
// its metrics, one for each run.
type series map[string]map[string][]float64

var cpuSuffix = regexp.MustCompile(`-\d+$`)

// bench runs benchmarks of a package.
func bench(ctx context.Context, pkg, pattern string, args ...string) (series, error) {
	args = append([]string{"test", "-run", "^$", "-bench", pattern, "-timeout", "20m"}, args...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	res := series{}
	in := bufio.NewScanner(bytes.NewReader(text))
	for in.Scan() {
		f := strings.Fields(in.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := cpuSuffix.ReplaceAllString(f[0], "")
		if res[name] == nil {
			res[name] = map[string][]float64{}
		}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				res[name][f[i+1]] = append(res[name][f[i+1]], v)
			}
		}
	}
	return res, in.Err()
}

// median is the middle value of a metric; 0 if there is none.
func (r series) median(name, metric string) float64 {
	return results.Median(r[name][metric])
}

// ratio is the median over rounds of a's value over b's.
func (r series) ratio(a, b, metric string) float64 {
	va, vb := r[a][metric], r[b][metric]
	var q []float64
	for i := range min(len(va), len(vb)) {
		q = append(q, va[i]/vb[i])
	}
	return results.Median(q)
}

func extraction(ctx context.Context) ([]line, error) {
	r, err := bench(ctx, "./test/bench", "Extract", "-benchtime=60x", "-count=3")
	if err != nil {
		return nil, err
	}
	const name = "BenchmarkExtract"
	guest := r.median(name, "guest-ms")
	return []line{{
		What: "read 50 rows × 12 fields of a loaded page, over MCP", Ours: r.median(name, "stack-ms") - guest,
		Floor: r.median(name, "raw-ms"), Unit: "ms", Ratio: r.median(name, "ratio"), Goal: "≤ 1.5×",
		Note: fmt.Sprintf("less the module's own %.2f ms; floor: the same callFunctionOn over bare CDP", guest),
	}}, nil
}

func overhead(ctx context.Context) ([]line, error) {
	r, err := bench(ctx, "./host/mcpserver", "^(BenchmarkHTTP|BenchmarkStdio)$", "-benchtime=3000x", "-count=5")
	if err != nil {
		return nil, err
	}
	var lines []line
	for _, t := range []string{"HTTP", "Stdio"} {
		for _, era := range []string{"legacy", "modern"} {
			ours, bare := "Benchmark"+t+"/"+era+"/drawbridge", "Benchmark"+t+"/"+era+"/bare"
			lines = append(lines, line{
				What: fmt.Sprintf("tools/call without a module, %s, %s era", t, era), Ours: r.median(ours, "ns/op") / 1000,
				Floor: r.median(bare, "ns/op") / 1000, Unit: "µs", Ratio: r.ratio(ours, bare, "ns/op"), Goal: "≤ 1.25×",
				Note: "floor: a bare mcp-go server",
			})
		}
	}
	return lines, nil
}

func listing(ctx context.Context) ([]line, error) {
	r, err := bench(ctx, "./host/mcpserver", "^BenchmarkList$", "-benchtime=50x", "-count=3")
	if err != nil {
		return nil, err
	}
	return []line{{
		What: "tools/list of 512 tools", Ours: r.median("BenchmarkList", "ns/op") / 1e6, Unit: "ms", Goal: "≤ 50 ms", Note: "without a transport",
	}}, nil
}

func worker(ctx context.Context) ([]line, error) {
	r, err := bench(ctx, "./sandbox", "^BenchmarkCall$", "-benchtime=100x", "-count=3")
	if err != nil {
		return nil, err
	}
	const ours, raw = "BenchmarkCall/worker/paced", "BenchmarkCall/wazero/ready-instance"
	return []line{{
		What: "one call of a Go module, instance ready", Ours: r.median(ours, "ns/op") / 1e6,
		Floor: r.median(raw, "ns/op") / 1e6, Unit: "ms", Ratio: r.ratio(ours, raw, "ns/op"),
		Note: "in its worker process through Extism; floor: wazero alone, in this process",
	}}, nil
}
