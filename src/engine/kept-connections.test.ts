import { beforeEach, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { KeptConnections } from './kept-connections.ts';

class Connection {
  isOpen = true;

  close(): void {
    this.isOpen = false;
  }
}

let clock: ManualClock;
let opened: Connection[];
let kept: KeptConnections<Connection>;

beforeEach(() => {
  clock = new ManualClock();
  opened = [];
  kept = new KeptConnections(clock);
});

const own = {};
const use = ({ group = 'main', address = '192.0.2.1', credentials = own } = {}) =>
  kept.use({ group, address, credentials }, () => {
    const connection = new Connection();
    opened.push(connection);
    return connection;
  });

const open = (): boolean[] => opened.map(({ isOpen }) => isOpen);

it('is used again within ten seconds of its last use, and closed after that', async () => {
  const first = use();
  await first.end();
  await clock.advance(9000);
  const second = use();
  expect(second.connection).toBe(first.connection);
  await clock.advance(20_000);
  await second.end();
  await clock.advance(9999);
  expect(open()).toEqual([true]);
  await clock.advance(1);
  expect(open()).toEqual([false]);
  expect(clock.sleeping).toBe(0);
  use();
  expect(open()).toEqual([false, true]);
});

it('is used by one user at a time', async () => {
  const [first, second] = [use(), use()];
  expect(second.connection).not.toBe(first.connection);
  await first.end();
  await first.end();
  const third = use();
  expect(third.connection).toBe(first.connection);
  expect(use().connection).not.toBe(first.connection);
  await clock.advance(30_000);
  expect(open()).toEqual([true, true, true]);
});

it('is only used again at one address of one group with the same credentials', async () => {
  await use().end();
  await use({ address: '192.0.2.2' }).end();
  await use({ group: 'other' }).end();
  expect(open()).toEqual([true, true, true]);
  await use({ credentials: {} }).end();
  expect(open()).toEqual([false, true, true, true]);
});

it('is not used again after a minute, because another peer may have the address', async () => {
  for (let i = 0; i < 7; i += 1) {
    await use().end();
    await clock.advance(9000);
  }
  expect(opened).toHaveLength(1);
  await use().end();
  expect(open()).toEqual([false, true]);
});

it('is closed when too many are idle, the longest idle first', async () => {
  const all = Array.from({ length: 66 }, (_, i) => use({ address: `192.0.2.${i}` }));
  await all[1]?.end();
  for (const one of all) await one.end();
  expect(open().indexOf(false)).toBe(0);
  expect(open().slice(0, 3)).toEqual([false, false, true]);
  expect(open().filter((isOpen) => isOpen)).toHaveLength(64);
});

it('is closed with its group and with the process, in use at the end of the use', async () => {
  await use({ group: 'gone' }).end();
  const last = use({ group: 'gone', address: '192.0.2.2' });
  await use().end();
  await kept.forget('gone');
  expect(open()).toEqual([false, true, true]);
  await last.end();
  expect(open()).toEqual([false, false, true]);
  expect([...kept.groups]).toEqual(['main']);
  const other = use({ address: '192.0.2.3' });
  await kept.close();
  await other.end();
  await clock.settle();
  expect(open()).toEqual([false, false, false, false]);
  expect(clock.sleeping).toBe(0);
});
