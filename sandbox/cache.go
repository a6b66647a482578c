package sandbox

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
)

// ErrNotCompiled says that there is no machine code for a module and this
// version of the engine, this system and this processor: it has to go through
// [Sandbox.Compile] first. Nothing else is wrong.
var ErrNotCompiled = errors.New("module is not compiled")

const (
	cacheMagic    = "drawbridge machine code 1\n"
	maxCacheBytes = 256 << 20
	maxCacheFiles = 8
)

// A cacheStore keeps machine code, one sealed file per module and engine. The
// engine's own cache has only a checksum, and whoever can write to it runs
// code; so what is read here must carry the MAC of this user's key.
type cacheStore struct {
	dir    string
	key    []byte
	engine string // versions and system, such as "wazero-v1.12.0-extism-v1.7.1-linux-amd64"
}

// A cacheFile is one file as the engine wrote it.
type cacheFile struct {
	name string // two path elements, with a slash
	data []byte
}

// openCacheStore makes dir and the key in it if they are missing.
func openCacheStore(dir string) (*cacheStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making cache directory: %w", err)
	}
	key, err := loadKey(filepath.Join(dir, "key"))
	if err != nil {
		return nil, err
	}
	info, _ := debug.ReadBuildInfo()
	return &cacheStore{dir: dir, key: key, engine: engineName(info)}, nil
}

// engineName names everything that machine code depends on, but for the
// processor's features, which the engine looks after. A build without module
// information, such as a test's, says dev.
func engineName(info *debug.BuildInfo) string {
	versions := map[string]string{}
	if info != nil {
		for _, d := range info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			versions[d.Path] = d.Version
		}
	}
	return strings.Join([]string{
		"wazero", cmp.Or(versions["github.com/tetratelabs/wazero"], "dev"),
		"extism", cmp.Or(versions["github.com/extism/go-sdk"], "dev"), runtime.GOOS, runtime.GOARCH,
	}, "-")
}

func (c *cacheStore) path(module string) string {
	return filepath.Join(c.dir, module+"."+c.engine)
}

// has reports whether there is a file for the module; whether it is any good
// shows when it is opened.
func (c *cacheStore) has(module string) bool {
	st, err := os.Lstat(c.path(module))
	return err == nil && st.Mode().IsRegular()
}

// seal stores the files of a module.
func (c *cacheStore) seal(module string, files []cacheFile) error {
	body := packCache(files)
	out := append([]byte(cacheMagic), c.mac(module, body)...)
	if err := atomicfile.Write(c.path(module), append(out, body...), 0o600); err != nil {
		return fmt.Errorf("storing machine code: %w", err)
	}
	return nil
}

// open returns the files of a module. [ErrNotCompiled] if there are none; an
// *[abi.Error] with untrusted, tampered if they are not what seal stored for
// this module and engine.
func (c *cacheStore) open(module string) ([]cacheFile, error) {
	b, err := readRegular(c.path(module), maxCacheBytes)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNotCompiled
	}
	if err != nil {
		return nil, fmt.Errorf("reading machine code: %w", err)
	}
	rest, ok := bytes.CutPrefix(b, []byte(cacheMagic))
	if !ok || len(rest) < sha256.Size {
		return nil, tampered(module, errEncoded)
	}
	mac, body := rest[:sha256.Size], rest[sha256.Size:]
	if !hmac.Equal(mac, c.mac(module, body)) {
		return nil, tampered(module, errors.New("authentication code does not match"))
	}
	files, err := unpackCache(body)
	if err != nil {
		return nil, tampered(module, err)
	}
	return files, nil
}

func tampered(module string, cause error) error {
	e := abi.Errorf(abi.ErrUntrusted, "module", "stored machine code of %q was changed: %w", module, cause)
	e.Reason = abi.ReasonTampered
	return e.WithHint("drawbridge install, which compiles it again")
}

// mac binds a body to the module and the engine that it is for, so that one
// genuine entry can't stand in for another.
func (c *cacheStore) mac(module string, body []byte) []byte {
	h := hmac.New(sha256.New, c.key)
	for _, part := range []string{cacheMagic, module, c.engine} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	h.Write(body)
	return h.Sum(nil)
}

// packCache joins files: for each the length of its name as two bytes, the
// name, the length of its data as eight, the data.
func packCache(files []cacheFile) []byte {
	var b []byte
	for _, f := range files {
		b = binary.BigEndian.AppendUint16(b, uint16(len(f.name)))
		b = append(b, f.name...)
		b = binary.BigEndian.AppendUint64(b, uint64(len(f.data)))
		b = append(b, f.data...)
	}
	return b
}

// unpackCache undoes packCache, strictly. The data stays part of b.
func unpackCache(b []byte) ([]cacheFile, error) {
	var files []cacheFile
	take := func(n uint64) ([]byte, error) {
		if n > uint64(len(b)) {
			return nil, errShort
		}
		head := b[:n:n]
		b = b[n:]
		return head, nil
	}
	for len(b) > 0 {
		if len(files) == maxCacheFiles {
			return nil, fmt.Errorf("more than %d files", maxCacheFiles)
		}
		head, err := take(2)
		if err != nil {
			return nil, err
		}
		name, err := take(uint64(binary.BigEndian.Uint16(head)))
		if err != nil {
			return nil, err
		}
		if !isCacheName(string(name)) {
			return nil, fmt.Errorf("file name %q: %w", name, errEncoded)
		}
		if head, err = take(8); err != nil {
			return nil, err
		}
		data, err := take(binary.BigEndian.Uint64(head))
		if err != nil {
			return nil, err
		}
		files = append(files, cacheFile{name: string(name), data: data})
	}
	return files, nil
}

// isCacheName reports whether name is a directory and a file of harmless names.
func isCacheName(name string) bool {
	ok, err := regexp.MatchString(`^[A-Za-z0-9_][A-Za-z0-9._+-]{0,100}/[0-9a-f]{64}$`, name)
	return ok && err == nil
}
