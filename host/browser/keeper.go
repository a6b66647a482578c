package browser

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/target"
)

// A browser without a screen starts without a window, because a window takes a
// quarter of the time of a start and nobody sees it. But when its last window
// closes, the browser drops its session cookies, and whoever was signed in no
// longer is. So there is a tab that stays: the keeper. It is opened when the first
// tab of ours closes, before that is done. A page can't close its own tab, which was
// blank before the page came and so has a history.

// keeperTimeout bounds the time that it takes to open it.
const keeperTimeout = 10 * time.Second

// A keeper says whether the tab is there. The turn is held by whoever opens it.
type keeper struct {
	turn chan struct{} // of one
	made chan struct{} // closed when it is there
}

func newKeeper() keeper {
	return keeper{turn: make(chan struct{}, 1), made: make(chan struct{})}
}

// needsKeeper reports whether this browser started without a window.
func (b *Browser) needsKeeper() bool { return !b.joined() && b.headless }

// keep returns when the keeper is there.
func (b *Browser) keep(ctx context.Context) error {
	if !b.needsKeeper() {
		return nil
	}
	select {
	case <-b.keeper.made:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case b.keeper.turn <- struct{}{}:
	}
	defer func() { <-b.keeper.turn }()
	select {
	case <-b.keeper.made: // by whoever had the turn before
		return nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, keeperTimeout)
	defer cancel()
	yes := true
	if _, err := do(ctx, b.root(), target.CreateTarget, target.CreateTargetParams{URL: "about:blank", Background: &yes, NewWindow: &yes}); err != nil {
		return fmt.Errorf("opening the tab that keeps the session: %w", err)
	}
	close(b.keeper.made)
	return nil
}
