import { expect, it } from 'vitest';
import type { OverviewJson, OverviewRowJson } from '../../status/views/fleet-overview.ts';
import { LiveStatus } from './live-status.ts';

const now = new Date('2026-11-21T09:00:00Z');
const row = (name: string, change: Partial<OverviewRowJson> = {}): OverviewRowJson => ({
  ...{ namespace: 'shop', name, health: 'ready', config: 'home', machines: 3, readyMachines: 3 },
  ...{ isProblem: false, pendingMachines: 0, since: '2026-11-21T08:57:00Z' },
  ...change,
});
const overview = (...clusters: OverviewRowJson[]): OverviewJson => ({ clusters, rollouts: [] });

/** What a terminal of this size, or a file, is sent. */
function open(terminal: { isTTY?: boolean; columns?: number; rows?: number } = {}) {
  const written: string[] = [];
  const live = new LiveStatus({ ...terminal, write: (text) => written.push(text) });
  return { live, written };
}

it('a terminal is redrawn in place', () => {
  const { live, written } = open({ isTTY: true, columns: 100, rows: 24 });
  live.show(overview(row('a'), row('b')), undefined, now);
  live.show(overview(row('a')), undefined, now);
  expect(written[0]).toMatch(/^CLUSTER .*\nshop\/a .*\nshop\/b .*\n$/);
  const erasure = '\u001b[3A\u001b[0J';
  expect(written[1]?.slice(0, erasure.length)).toBe(erasure);
  expect(written[1]?.slice(erasure.length)).toMatch(/^CLUSTER .*\nshop\/a [^\n]*\n$/);
});

it('a table never has more lines and columns than the terminal', () => {
  const { live, written } = open({ isTTY: true, columns: 40, rows: 10 });
  const many = Array.from({ length: 50 }, (_, i) => row(`c${i}`));
  live.show(overview(...many), undefined, now);
  const lines = (written[0] ?? '').trimEnd().split('\n');
  expect(lines).toHaveLength(8);
  expect(lines.at(-1)).toBe('… and 44 more lines');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(40);
});

it('a problem of the watch is shown above what may be old', () => {
  const { live, written } = open({ isTTY: true });
  live.show(overview(row('a')), 'connection refused\u001b[2J', now);
  expect(written[0]).toMatch(/^This may be old, because changes cannot be watched: connection refused \[2J\n\nCLUSTER/);
});

it('elsewhere each change of a Cluster is a line, and time alone changes nothing', () => {
  const { live, written } = open();
  live.show(overview(row('a'), row('b')), undefined, now);
  live.show(overview(row('a'), row('b')), undefined, new Date(now.getTime() + 3_600_000));
  expect(written).toHaveLength(2);
  live.show(overview(row('a', { health: 'unhealthy', readyMachines: 2 })), 'refused', now);
  live.show(overview(row('a', { health: 'unhealthy', readyMachines: 2 })), 'refused', now);
  expect(written.slice(2)).toEqual([
    '2026-11-21T09:00:00Z  This may be old, because changes cannot be watched: refused\n',
    '2026-11-21T09:00:00Z  shop/a  unhealthy  2/3  -  -  -  -  3m\n',
    '2026-11-21T09:00:00Z  shop/b  deleted\n',
  ]);
});
