package clients

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

const (
	formatVersion = 1
	maxFile       = 256 << 10
)

// A file is clients.json.
type file struct {
	V       int     `json:"v"`
	Clients []entry `json:"clients"`
}

// An entry is one client in clients.json.
type entry struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Token   string    `json:"token"`   // "sha256:" and 64 hex digits; see hashOf
	Created time.Time `json:"created"` // UTC, whole seconds
	// MayAsk is written only where it is true, so that files from before it read.
	MayAsk bool `json:"may_ask,omitempty"`
}

func (e entry) client() Client {
	return Client{ID: e.ID, Name: e.Name, Created: e.Created, MayAsk: e.MayAsk}
}

func readFile(path string) ([]entry, os.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading clients: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("reading clients: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("reading clients: %w", err)
	}
	list, err := parse(data)
	if err != nil {
		return nil, nil, &abi.Error{
			Code: abi.ErrUntrusted, Reason: abi.ReasonMalformed, Msg: fmt.Sprintf("clients file %q: %v", path, err), Err: err,
			Hint: fmt.Sprintf("mv %q %q, then drawbridge clients add NAME", path, path+".bad"),
		}
	}
	return list, info, nil
}

// parse reads clients.json.
func parse(data []byte) ([]entry, error) {
	var f file
	if err := strictjson.Decode(data, &f, strictjson.MaxBytes(maxFile)); err != nil {
		return nil, err
	}
	if f.V != formatVersion {
		return nil, fmt.Errorf("format version %d is not %d", f.V, formatVersion)
	}
	if f.Clients == nil {
		return nil, errors.New("no list of clients")
	}
	if len(f.Clients) > MaxClients {
		return nil, fmt.Errorf("%d clients", len(f.Clients))
	}
	seen := make(map[string]bool)
	for i, e := range f.Clients {
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("client %d: %w", i+1, err)
		}
		for _, unique := range []string{e.ID, "name " + e.Name, e.Token} {
			if seen[unique] {
				return nil, fmt.Errorf("client %d: %q stands there twice", i+1, unique)
			}
			seen[unique] = true
		}
	}
	return f.Clients, nil
}

func (e entry) check() error {
	id, ok := strings.CutPrefix(e.ID, "c_")
	if !ok || !isHex(id, 16) {
		return fmt.Errorf("id %.40q", e.ID)
	}
	if !validName(e.Name) {
		return fmt.Errorf("name %.40q", e.Name)
	}
	token, ok := strings.CutPrefix(e.Token, "sha256:")
	if !ok || !isHex(token, 64) {
		return errors.New("token is not a SHA-256 hash") // whatever it is, it is not shown
	}
	if e.Created.IsZero() || e.Created.Location() != time.UTC || e.Created.Nanosecond() != 0 {
		return fmt.Errorf("created %q", e.Created)
	}
	return nil
}

func isHex(s string, n int) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(s) == n && hex.EncodeToString(b) == s
}

// format writes clients.json.
func format(list []entry) ([]byte, error) {
	if list == nil {
		list = []entry{}
	}
	data, err := json.MarshalIndent(file{V: formatVersion, Clients: list}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding clients: %w", err)
	}
	return append(data, '\n'), nil
}

func writeFile(path string, list []entry) error {
	data, err := format(list)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, data, platform.FileMode); err != nil {
		return fmt.Errorf("writing clients: %w", err)
	}
	return nil
}
