package site

import (
	"bufio"
	"context"
	"crypto/sha1" //nolint:gosec // RFC 6455 asks for it; nothing is kept secret by it
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
)

// The part of RFC 6455 that the site needs: unfragmented text messages.
const (
	opText  = 0x1
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xA

	maxMessage = 64 << 10
)

var (
	errNotUpgrade = errors.New("not a WebSocket request")
	errBadFrame   = errors.New("frame is fragmented, unmasked, or of another version")
	errBigFrame   = errors.New("frame is too large")
)

// A wsConn is a WebSocket after its handshake. One goroutine uses it.
type wsConn struct {
	conn net.Conn
	rw   *bufio.ReadWriter
}

// upgrade takes the request's connection over and answers the handshake. The
// connection ends with the request's context.
func upgrade(w http.ResponseWriter, r *http.Request) (*wsConn, error) {
	key := r.Header.Get("Sec-WebSocket-Key")
	if !headerHas(r.Header, "Upgrade", "websocket") || !headerHas(r.Header, "Connection", "upgrade") || key == "" {
		return nil, errNotUpgrade
	}
	h, ok := w.(http.Hijacker)
	if !ok {
		return nil, errNotUpgrade
	}
	conn, rw, err := h.Hijack()
	if err != nil {
		return nil, fmt.Errorf("taking the connection over: %w", err)
	}
	context.AfterFunc(r.Context(), func() { _ = conn.Close() })
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // see the import
	fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	return &wsConn{conn, rw}, rw.Flush()
}

// headerHas reports whether a comma-separated header names a value.
func headerHas(h http.Header, name, value string) bool {
	return slices.ContainsFunc(strings.Split(strings.Join(h.Values(name), ","), ","), func(v string) bool {
		return strings.EqualFold(strings.TrimSpace(v), value)
	})
}

// readText returns the next message; pings are answered on the way.
func (c *wsConn) readText() (string, error) {
	for {
		op, payload, err := readFrame(c.rw)
		if err != nil {
			return "", err
		}
		switch op {
		case opText:
			return string(payload), nil
		case opPing:
			if err := c.write(opPong, payload); err != nil {
				return "", err
			}
		case opClose:
			return "", io.EOF
		}
	}
}

// readFrame parses one frame from a client: final, masked, within the limit.
func readFrame(r io.Reader) (op byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	if head[0]&0xF0 != 0x80 || head[1]&0x80 == 0 {
		return 0, nil, errBadFrame
	}
	size := uint64(head[1] & 0x7F)
	var ext [8]byte
	switch size {
	case 126:
		_, err = io.ReadFull(r, ext[6:])
	case 127:
		_, err = io.ReadFull(r, ext[:])
	}
	if err != nil {
		return 0, nil, err
	}
	if size > 125 {
		size = binary.BigEndian.Uint64(ext[:])
	}
	if size > maxMessage {
		return 0, nil, errBigFrame
	}
	data := make([]byte, 4+size)
	if _, err := io.ReadFull(r, data); err != nil {
		return 0, nil, err
	}
	mask, payload := data[:4], data[4:]
	for i := range payload {
		payload[i] ^= mask[i%4]
	}
	return head[0] & 0x0F, payload, nil
}

func (c *wsConn) write(op byte, payload []byte) error {
	head := []byte{0x80 | op, 126, 0, 0}
	if len(payload) < 126 {
		head = []byte{0x80 | op, byte(len(payload))}
	} else {
		binary.BigEndian.PutUint16(head[2:], uint16(min(len(payload), 0xFFFF)))
		payload = payload[:min(len(payload), 0xFFFF)]
	}
	if _, err := c.rw.Write(append(head, payload...)); err != nil {
		return err
	}
	return c.rw.Flush()
}

func (c *wsConn) close() { _ = c.conn.Close() }

// wsMessage is what a page sends on /ws to add a comment: no HTTP method, no
// token, one frame.
type wsMessage struct {
	Issue int    `json:"issue"`
	Body  string `json:"body"`
}

// handleWS is the tracker's WebSocket. It takes the session's cookie from pages
// of its own origin, and logs every message as method WS.
func (s *Site) handleWS(w http.ResponseWriter, r *http.Request) {
	sess, ok := sessionOf(r)
	if !ok || r.Header.Get("Origin") != s.AppURL() {
		http.Error(w, "not signed in, or from another origin", http.StatusForbidden)
		return
	}
	c, err := upgrade(w, r)
	if err != nil {
		if errors.Is(err, errNotUpgrade) {
			http.Error(w, err.Error(), http.StatusUpgradeRequired)
		}
		return
	}
	defer c.close()
	for {
		text, err := c.readText()
		if err != nil {
			return
		}
		s.log.add(Request{Server: AppHost, Method: "WS", Target: r.RequestURI, Host: r.Host, Body: text})
		if err := c.write(opText, []byte(s.wsComment(sess, text))); err != nil {
			return
		}
	}
}

func (s *Site) wsComment(sess session, text string) string {
	var m wsMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return `{"ok":false}`
	}
	if is, ok := s.store.issue(m.Issue); !ok || !is.visibleTo(sess.user) {
		return `{"ok":false}`
	}
	if _, err := s.store.addComment(m.Issue, sess.user.Login, m.Body); err != nil {
		return `{"ok":false}`
	}
	return `{"ok":true}`
}
