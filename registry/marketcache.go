package registry

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/abi/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// What was verified of a registry is kept beside its copy, so that the first search
// after a start doesn't verify hundreds of signatures again. The file is one line
// with an authentication code and one of JSON. It decides nothing: an install
// verifies for itself. A file that is not whole is made again.

const (
	marketFile   = "market.json"
	maxMarket    = 32 << 20
	marketDomain = "drawbridge market 1\n"
)

// readMarket returns what was kept of a registry; nil if nothing good was.
func (c *Client) readMarket(dir, registry string) *market {
	data, err := readLimited(filepath.Join(dir, marketFile), maxMarket)
	if err != nil {
		return nil
	}
	key, err := c.marketKey()
	if err != nil {
		return nil
	}
	code, body, ok := bytes.Cut(data, []byte{'\n'})
	if !ok || !hmac.Equal(code, marketMAC(key, registry, body)) {
		return nil
	}
	var m market
	if err := strictjson.Decode(body, &m, strictjson.MaxBytes(maxMarket)); err != nil || m.Type != typeMarket || m.Format != Format {
		return nil
	}
	return &m
}

// writeMarket keeps m. That it can't is no fault of the search that made it.
func (c *Client) writeMarket(dir string, m *market) {
	err := c.keepMarket(dir, m)
	if err != nil && c.cfg.Events.Warning != nil {
		c.cfg.Events.Warning(m.Registry, fmt.Sprintf("what the registry has isn't kept for the next search: %v", err))
	}
}

func (c *Client) keepMarket(dir string, m *market) error {
	key, err := c.marketKey()
	if err != nil {
		return err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	code := append(marketMAC(key, m.Registry, body), '\n')
	if len(code)+len(body) > maxMarket {
		return fmt.Errorf("it has %d bytes, the limit is %d", len(body), maxMarket)
	}
	return atomicfile.Write(filepath.Join(dir, marketFile), append(code, body...), 0o600)
}

// marketMAC is the authentication code in hexadecimal.
func marketMAC(key []byte, registry string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(marketDomain + registry + "\n"))
	h.Write(body)
	return hex.AppendEncode(nil, h.Sum(nil))
}

// marketKey reads the key of the codes, and makes it if there is none.
func (c *Client) marketKey() ([]byte, error) {
	path := filepath.Join(c.cfg.Dir, "market.key")
	key, err := readLimited(path, sha256.Size)
	if err == nil && len(key) == sha256.Size {
		return key, nil
	}
	if err != nil && !isMissing(err) && !errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("reading the key of %s: %w", marketFile, err)
	}
	key = make([]byte, sha256.Size)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("making the key of %s: %w", marketFile, err)
	}
	if err := atomicfile.Write(path, key, 0o600); err != nil {
		return nil, fmt.Errorf("keeping the key of %s: %w", marketFile, err)
	}
	return key, nil
}
