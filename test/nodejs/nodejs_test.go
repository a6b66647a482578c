package nodejs

import "testing"

func TestOlder(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"v20.20.2", Oldest, true},
		{"v22.18.9", Oldest, true},
		{"v22.19.0", Oldest, false},
		{"v22.23.3", Oldest, false},
		{"v24.0.0", Oldest, false},
		{"v9.99.99", Oldest, true},
		{"", Oldest, true},
		{"22.23.3", Oldest, true},
		{"v22", Oldest, true},
	} {
		if got := older(tt.a, tt.b); got != tt.want {
			t.Errorf("older(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}
