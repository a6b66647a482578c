package clients

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// TokenPrefix makes a token recognisable to whoever finds one.
const TokenPrefix = "dbc_"

// MaxClients is how many clients there may be.
const MaxClients = 256

// A Client is one registration, without its token.
type Client struct {
	ID      string    // stable and random, such as "c_9f86d081884c7d65"
	Name    string    // what the user called it, [a-z0-9][a-z0-9-]{0,30}
	Created time.Time // UTC, whole seconds
	MayAsk  bool      // trusted to ask for confirmations itself
}

// Principal is how the rest of the host knows the client.
func (c Client) Principal() gate.Principal { return gate.Principal{ID: c.ID, Name: c.Name} }

// A Store is the registrations in one file. It serves any number of
// goroutines, and other processes may have the same file.
type Store struct {
	path string

	mu   sync.Mutex
	seen os.FileInfo // of the file that entries were read from; nil if there was none
	read bool
	list []entry
}

// Open returns the store at path, which need not exist. It fails if the file
// may be used by others than its owner, or is not what this package writes.
func Open(path string) (*Store, error) {
	s := &Store{path: path}
	if _, err := s.entries(); err != nil {
		return nil, err
	}
	return s, nil
}

// Add registers a client and returns its token, which nobody will see again.
// The name must be free and of the form [a-z0-9][a-z0-9-]{0,30}.
func (s *Store) Add(ctx context.Context, name string) (token string, c Client, err error) {
	if !validName(name) {
		return "", Client{}, abi.Errorf(abi.ErrInvalidArgs, "", "client name %.64q is not of the form [a-z0-9][a-z0-9-]{0,30}", name)
	}
	token = TokenPrefix + platform.NewToken()
	e := entry{
		ID: newID(), Name: name, Token: hashOf(token), Created: time.Now().UTC().Truncate(time.Second),
	}
	err = s.change(ctx, func(list []entry) ([]entry, error) {
		if slices.ContainsFunc(list, func(o entry) bool { return o.Name == name }) {
			return nil, abi.Errorf(abi.ErrInvalidArgs, "", "there is a client %q already", name).
				WithHint("drawbridge clients revoke %s", name)
		}
		if len(list) >= MaxClients {
			return nil, abi.Errorf(abi.ErrLimitExceeded, "", "there are %d clients already", len(list)).
				WithHint("drawbridge clients list")
		}
		return append(list, e), nil
	})
	if err != nil {
		return "", Client{}, err
	}
	return token, e.client(), nil
}

// List returns the clients in the order of their names.
func (s *Store) List() ([]Client, error) {
	list, err := s.entries()
	if err != nil {
		return nil, err
	}
	out := make([]Client, 0, len(list))
	for _, e := range list {
		out = append(out, e.client())
	}
	slices.SortFunc(out, func(a, b Client) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Revoke removes the client with this name; its token is refused from now on.
// Connections that it has open are for the caller to close.
func (s *Store) Revoke(ctx context.Context, name string) (Client, error) {
	var gone Client
	err := s.change(ctx, func(list []entry) ([]entry, error) {
		i := slices.IndexFunc(list, func(e entry) bool { return e.Name == name })
		if i < 0 {
			return nil, noClient(name)
		}
		gone = list[i].client()
		return slices.Delete(list, i, i+1), nil
	})
	return gone, err
}

// Trust lets the client with this name ask for confirmations itself, and returns a
// new token for it: the one before, which may have been read by others while it
// was worth less, is refused from now on. Connections that it has open are for the
// caller to close. That a person agreed is for the caller to know.
func (s *Store) Trust(ctx context.Context, name string) (token string, c Client, err error) {
	token = TokenPrefix + platform.NewToken()
	c, err = s.edit(ctx, name, func(e *entry) { e.MayAsk, e.Token = true, hashOf(token) })
	if err != nil {
		return "", Client{}, err
	}
	return token, c, nil
}

// Distrust takes that away; the token stays.
func (s *Store) Distrust(ctx context.Context, name string) (Client, error) {
	return s.edit(ctx, name, func(e *entry) { e.MayAsk = false })
}

// edit changes the entry with this name.
func (s *Store) edit(ctx context.Context, name string, f func(*entry)) (Client, error) {
	var c Client
	err := s.change(ctx, func(list []entry) ([]entry, error) {
		i := slices.IndexFunc(list, func(e entry) bool { return e.Name == name })
		if i < 0 {
			return nil, noClient(name)
		}
		f(&list[i])
		c = list[i].client()
		return list, nil
	})
	return c, err
}

func noClient(name string) error {
	return abi.Errorf(abi.ErrNotFound, "", "there is no client %.64q", name).WithHint("drawbridge clients list")
}

// MayAsk says whether the client with this id is trusted to ask. Whatever goes
// wrong, it is not.
func (s *Store) MayAsk(id string) bool {
	list, err := s.entries()
	if err != nil {
		return false
	}
	i := slices.IndexFunc(list, func(e entry) bool { return e.ID == id })
	return i >= 0 && list[i].MayAsk
}

// Authenticate says whose token this is. Whatever goes wrong, a file that can't
// be read included, the answer is nobody.
func (s *Store) Authenticate(token string) (gate.Principal, bool) {
	if !validToken(token) {
		return gate.Principal{}, false
	}
	list, err := s.entries()
	if err != nil {
		return gate.Principal{}, false
	}
	sum := []byte(hashOf(token))
	var found entry
	hit := 0
	for _, e := range list { // all of them: the time tells nothing
		if subtle.ConstantTimeCompare(sum, []byte(e.Token)) == 1 {
			found, hit = e, 1
		}
	}
	if hit == 0 {
		return gate.Principal{}, false
	}
	return found.client().Principal(), true
}

// entries returns what is in the file, from memory if it has not changed.
func (s *Store) entries() ([]entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load()
}

// load is entries with the lock held. The file is only ever replaced, so that
// another one is another inode.
func (s *Store) load() ([]entry, error) {
	info, err := os.Lstat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		s.seen, s.list, s.read = nil, nil, true
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading clients: %w", err)
	}
	if s.read && s.seen != nil && os.SameFile(info, s.seen) && info.ModTime().Equal(s.seen.ModTime()) &&
		info.Size() == s.seen.Size() && info.Mode() == s.seen.Mode() {
		return slices.Clone(s.list), nil
	}
	if err := platform.CheckFile(s.path); err != nil {
		return nil, fmt.Errorf("reading clients: %w", err)
	}
	list, info, err := readFile(s.path)
	if err != nil {
		return nil, err
	}
	s.seen, s.list, s.read = info, list, true
	return slices.Clone(list), nil
}

// change replaces the file by what f makes of its content, while no other
// process does.
func (s *Store) change(ctx context.Context, f func([]entry) ([]entry, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := platform.CreateDir(filepath.Dir(s.path)); err != nil {
		return fmt.Errorf("changing clients: %w", err)
	}
	lock, err := platform.Lock(ctx, s.path+".lock", platform.LockInfo{PID: os.Getpid()})
	if err != nil {
		return fmt.Errorf("changing clients: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	s.read = false // whatever is in memory may be older than the lock
	list, err := s.load()
	if err != nil {
		return err
	}
	if list, err = f(list); err != nil {
		return err
	}
	s.read = false
	return writeFile(s.path, list)
}

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never returns an error: see crypto/rand
	return "c_" + hex.EncodeToString(b[:])
}

// hashOf is what stands in the file for a token. The token is random, so that
// a slow hash would protect nothing.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte("drawbridge client token v1\n" + token))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func validToken(token string) bool {
	text, ok := strings.CutPrefix(token, TokenPrefix)
	if !ok || len(text) != 43 {
		return false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(raw) == 32
}

func validName(name string) bool {
	if name == "" || len(name) > 31 || name[0] == '-' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
