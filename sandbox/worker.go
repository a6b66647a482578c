package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// WorkerCommand is the argument with which the program starts itself as a
// worker, unless [Config] names another command.
const WorkerCommand = "worker"

// WorkerMain is the whole life of a worker: it is told what to do on stdin,
// answers on stdout, and ends when stdin does. It returns the exit status. Only
// the program's hidden worker command calls it, with its own three streams, and
// nothing else may use stdout.
func WorkerMain(stdin io.Reader, stdout, stderr io.Writer) int {
	if stdout == io.Writer(os.Stdout) {
		// Extism prints an error of its own to standard output, which would
		// stand in the middle of a frame.
		os.Stdout = os.Stderr
	}
	runtime.GOMAXPROCS(2) // the guest, and the collector beside it
	w := &guestWorker{in: bufio.NewReaderSize(stdin, 64<<10), out: stdout}
	if err := w.run(); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintf(stderr, "worker: %v\n", err)
		return 1
	}
	return 0
}

// A guestWorker is the worker's side of the pipe. It has one goroutine: while a
// guest runs nothing else does, and a host call reads its answer in place.
type guestWorker struct {
	in   *bufio.Reader
	out  io.Writer
	told hello
	lim  frameLimits
	eng  *engine
	idle time.Duration // in this call, waiting for host calls
}

// run says hello, compiles or loads, and serves calls until stdin ends.
func (w *guestWorker) run() error {
	var err error
	if w.told, err = readHello(w.in); err != nil {
		return err
	}
	w.lim = w.told.fromHost()
	if err := w.confine(); err != nil {
		return fmt.Errorf("limiting the worker: %w", err)
	}
	if w.told.DataBytes > 0 {
		debug.SetMemoryLimit(w.told.DataBytes / 2)
	}
	module, err := w.expect(kindModule)
	if err != nil {
		return err
	}
	if w.eng, err = newEngine(w.told, module, w); err != nil {
		return w.fail(abi.ErrUntrusted, err)
	}
	if err := confineLoaded(); err != nil {
		return fmt.Errorf("limiting the worker: %w", err)
	}
	if err := writeFrame(w.out, frame{kind: kindCompiled}); err != nil {
		return err
	}
	if _, err := w.expect(kindStart); err != nil {
		return err
	}
	return w.serve()
}

// confine gives up what a worker doesn't need, for good, before it reads the module.
func (w *guestWorker) confine() error {
	if err := confineSelf(w.told); err != nil {
		return err
	}
	if err := confineFiles(w.told); err != nil {
		return err
	}
	return confineCalls()
}

// serve makes an instance, offers it, and uses it once.
func (w *guestWorker) serve() error {
	for first := true; ; first = false {
		inst, err := w.eng.instance()
		if err != nil {
			return w.fail(abi.ErrGuestTrap, err)
		}
		if err := writeFrame(w.out, frame{kind: kindReady}); err != nil {
			return err
		}
		call, err := w.expect(kindCall)
		if err != nil {
			return err
		}
		export, input, err := splitNamed(call)
		if err != nil {
			return err
		}
		last := w.call(inst, export, input)
		inst.log.flush() // what it logged comes before what it returned
		err = writeFrame(w.out, last)
		<-time.After(breath)
		inst.close() // its memory is zeroed when nobody waits for it any more
		if err != nil {
			return err
		}
		if first {
			debug.FreeOSMemory() // what loading the module took
		}
	}
}

// breath is how long a worker leaves the machine to its host, which has an answer to
// pass on, before it clears up and makes its next instance.
const breath = 2 * time.Millisecond

// call runs one export and returns the frame that ends the call.
func (w *guestWorker) call(inst *instance, export string, input []byte) frame {
	w.idle = 0
	start := time.Now()
	out, err := inst.call(export, input)
	took := time.Since(start) - w.idle
	switch {
	case err != nil:
		return failFrame(abi.ErrGuestTrap, inst.explain(err))
	case len(out) > w.told.ResultBytes:
		return failFrame(abi.ErrLimitExceeded,
			fmt.Sprintf("output of %d bytes; at most %d are allowed", len(out), w.told.ResultBytes))
	default:
		return outputFrame(took, out)
	}
}

// fail reports why the worker can't go on, and ends it.
func (w *guestWorker) fail(code abi.Code, cause error) error {
	if err := writeFrame(w.out, failFrame(code, cause.Error())); err != nil {
		return err
	}
	return cause
}

// expect reads the next frame, which must be of kind k.
func (w *guestWorker) expect(k kind) ([]byte, error) {
	f, err := readFrame(w.in, w.lim)
	if err != nil {
		return nil, err
	}
	if f.kind != k {
		return nil, fmt.Errorf("reading frame: kind %q where %q is due", f.kind, k)
	}
	return f.payload, nil
}

// ask carries one host call to the host and waits for its answer.
func (w *guestWorker) ask(name string, request []byte) ([]byte, error) {
	start := time.Now()
	defer func() { w.idle += time.Since(start) }()
	if err := writeFrame(w.out, named(kindAsk, name, request)); err != nil {
		return nil, err
	}
	return w.expect(kindAnswer)
}

// log sends one line. The budget is kept by the caller.
func (w *guestWorker) log(level, text string) error {
	return writeFrame(w.out, named(kindLog, level, []byte(text)))
}
