import { useEffect, useState } from 'preact/hooks';
import { type ViewState, watchView } from './watch-view.ts';

/** The state of a view, live. `attempt` changes when the user has given a token. */
export function useView<T>(path: string, attempt: number): ViewState<T> {
  const [state, setState] = useState<{ readonly path: string; readonly view: ViewState<T> }>();
  useEffect(() => {
    const end = new AbortController();
    const begin: ViewState<T> = { connection: 'opening', clockOffset: 0 };
    setState({ path, view: begin });
    const report = (change: Partial<ViewState<T>>): void => {
      if (!end.signal.aborted)
        setState((before) => ({ path, view: { ...(before?.path === path ? before.view : begin), ...change } }));
    };
    void watchView(path, report, end.signal);
    return () => end.abort();
  }, [path, attempt]);
  return state?.path === path ? state.view : { connection: 'opening', clockOffset: 0 };
}

/** The time of the provider in milliseconds, every second. */
export function useNow(clockOffset: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now + clockOffset;
}

/** The part of the address behind `#/`. */
export function useRoute(): string {
  const read = (): string => location.hash.replace(/^#\/?/, '');
  const [route, setRoute] = useState(read());
  useEffect(() => {
    const update = (): void => setRoute(read());
    addEventListener('hashchange', update);
    return () => removeEventListener('hashchange', update);
  }, []);
  return route;
}
