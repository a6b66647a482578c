package registry

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Clock tells the time.
type Clock func() time.Time

// A Time is an instant in metadata, in exactly one spelling: UTC, whole seconds,
// such as "2026-11-30T12:00:00Z".
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05Z"

// At makes a Time of t, cut to the second.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Second)} }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// UnmarshalJSON implements json.Unmarshaler. It takes no other spelling.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("reading a time: %w", err)
	}
	parsed, err := time.Parse(timeLayout, s)
	if err != nil || parsed.Format(timeLayout) != s {
		return fmt.Errorf("time %q, want the form %q", s, timeLayout)
	}
	t.Time = parsed
	return nil
}

// String returns the one spelling.
func (t Time) String() string { return t.UTC().Format(timeLayout) }
