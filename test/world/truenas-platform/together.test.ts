import { expect, it } from 'vitest';
import { type Durable, dump, Process, room, start, useScene, withoutCache } from './scene.ts';

useScene();

it('machines that look at the same time look together, and each sees what it did itself', async () => {
  await start({ seed: { memoryMiB: 262_144 } });
  const process = new Process();
  await process.walk('provision', 'first', { progress: undefined });
  const before = dump().vms.length;
  const asked = (): number => room.switchboard.calls.filter(({ name }) => name.endsWith('.query')).length;
  const alone = asked();
  const empty = withoutCache();
  // As far away as a real one, so that all of them ask before one of them is answered.
  room.room.setLatency('*', 20);
  const names = Array.from({ length: 8 }, (_, i) => `of-eight-${i}`);
  const records = names.map((name) => [name, { progress: undefined } as Durable] as const);
  await Promise.all(records.map(([name, durable]) => process.walk('provision', name, durable)));
  expect(dump().vms.length).toBe(before + names.length);
  await Promise.all(records.map(([name, durable]) => process.walk('release', name, durable)));
  expect(withoutCache()).toEqual(empty);
  // Each by itself would ask more often up and back than the first one did on its way up.
  expect(asked() - alone).toBeLessThan(names.length * alone);
});
