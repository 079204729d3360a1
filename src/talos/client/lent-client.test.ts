import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { KeptConnections } from '../../engine/kept-connections.ts';
import type { TalosClient } from './client.ts';
import { lendTalosClient } from './lent-client.ts';

const kept = new KeptConnections<TalosClient>(new ManualClock());
let opened = 0;

/** Lends a client of a node that answers every call. */
function lend(): TalosClient {
  const calls = ['reboot', 'reset', 'shutdown', 'upgradeLegacy', 'version', 'close'].map((name) => [
    name,
    async () => {},
  ]);
  return lendTalosClient(
    kept.use({ group: 'shop', address: '192.0.2.10', credentials: 'one' }, () => {
      opened += 1;
      return Object.fromEntries(calls) as unknown as TalosClient;
    }),
  );
}

it.each<[string, (node: TalosClient) => Promise<unknown>, number]>([
  ['a version is kept for the next client', async (node) => await node.version(), 0],
  ['a reboot is not', async (node) => await node.reboot('kernel', {}), 1],
  ['a reset is not', async (node) => await node.reset({} as never, {}), 1],
  ['a shutdown is not', async (node) => await node.shutdown({} as never, {}), 1],
  ['an upgrade is not', async (node) => await node.upgradeLegacy({} as never, {}), 1],
])('the connection of a call for %s', async (_, call, more) => {
  const first = lend();
  const before = opened;
  await call(first);
  await first.close();
  const second = lend();
  expect(opened - before).toBe(more);
  await second.close();
});
