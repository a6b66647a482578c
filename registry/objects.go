package registry

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// An object is what git says about one, before any of it is read.
type object struct {
	id   string // hexadecimal object id
	kind string // commit, tree, blob or tag
	size int64
}

// kindMissing is the kind of an object that isn't there.
const kindMissing = "missing"

var errNoObject = errors.New("no such object")

// objects reads single objects out of a repository: "git cat-file" says kind and
// size first, so nothing large is ever loaded. It isn't safe for concurrent use.
type objects struct {
	cancel context.CancelFunc
	info   *catFile // --batch-check
	data   *catFile // --batch
}

// A catFile is one running "git cat-file".
type catFile struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// open starts reading from r. The caller closes it; it ends with ctx as well.
func (r repository) open(ctx context.Context) (*objects, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	o := &objects{cancel: cancel}
	var err error
	if o.info, err = r.catFile(ctx, "--batch-check"); err == nil {
		o.data, err = r.catFile(ctx, "--batch")
	}
	if err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

func (r repository) catFile(ctx context.Context, mode string) (*catFile, error) {
	cmd := r.command(ctx, "cat-file", mode)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("connecting to git: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connecting to git: %w", err)
	}
	if err := start(cmd, hardLimits); err != nil {
		return nil, err
	}
	return &catFile{cmd, in, bufio.NewReaderSize(out, 64<<10)}, nil
}

func (o *objects) close() {
	o.cancel()
	for _, c := range []*catFile{o.info, o.data} {
		if c == nil {
			continue
		}
		_ = c.in.Close()
		_ = c.cmd.Wait() // its error is that it was ended
	}
}

// ask writes one name and reads the line that answers it.
func (c *catFile) ask(name string) (object, error) {
	if strings.ContainsAny(name, " \n") {
		return object{}, fmt.Errorf("object name %q", name)
	}
	if _, err := io.WriteString(c.in, name+"\n"); err != nil {
		return object{}, fmt.Errorf("asking git: %w", err)
	}
	obj, err := c.answer()
	if err == nil && obj.kind == kindMissing {
		err = fmt.Errorf("%w: %q", errNoObject, name)
	}
	return obj, err
}

// answer reads the line that answers one name.
func (c *catFile) answer() (object, error) {
	line, err := c.out.ReadSlice('\n')
	if err != nil {
		return object{}, fmt.Errorf("reading git's answer: %w", err)
	}
	fields := strings.Fields(string(line))
	if len(fields) != 3 {
		return object{kind: kindMissing}, nil
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return object{}, fmt.Errorf("git says size %q", fields[2])
	}
	return object{fields[0], fields[1], size}, nil
}

// stat looks an object up by id or by ref name.
func (o *objects) stat(name string) (object, error) { return o.info.ask(name) }

// statAll looks objects up by their ids, and asks for all before it reads the first
// answer: a registry has thousands. One that isn't there is of kind missing.
func (o *objects) statAll(ids []string) ([]object, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	asked := make(chan error, 1)
	go func() { // git stops taking names while nobody reads its answers
		_, err := io.WriteString(o.info.in, strings.Join(ids, "\n")+"\n")
		asked <- err
	}()
	list := make([]object, len(ids))
	for i := range list {
		var err error
		if list[i], err = o.info.answer(); err != nil {
			return nil, err
		}
	}
	if err := <-asked; err != nil {
		return nil, fmt.Errorf("asking git: %w", err)
	}
	return list, nil
}

// read returns the content of an object that has to be of a kind and at most max
// bytes.
func (o *objects) read(name, kind string, maxSize int64) ([]byte, error) {
	obj, err := o.stat(name)
	if err != nil {
		return nil, err
	}
	return o.readKnown(obj, kind, maxSize)
}

// readKnown is read for an object that stat has told of.
func (o *objects) readKnown(obj object, kind string, maxSize int64) ([]byte, error) {
	if obj.kind != kind || obj.size > maxSize {
		return nil, fmt.Errorf("a %s of %d bytes, want a %s of at most %d", obj.kind, obj.size, kind, maxSize)
	}
	again, err := o.data.ask(obj.id)
	if err != nil {
		return nil, err
	}
	if again != obj {
		return nil, fmt.Errorf("git describes object %s in two ways", obj.id)
	}
	content := make([]byte, obj.size+1) // and the line feed behind it
	if _, err := io.ReadFull(o.data.out, content); err != nil {
		return nil, fmt.Errorf("reading object %s: %w", obj.id, err)
	}
	return content[:obj.size], nil
}
