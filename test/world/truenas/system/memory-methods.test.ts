import { afterEach, expect, test } from 'vitest';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

const mebibyte = 1024 * 1024;
let nas: TrueNasFixture;
afterEach(() => nas.close());

async function open(seed: object): Promise<RawClient> {
  nas = await startTrueNasFixture({ seed: { memoryMiB: 16_384, ...seed } });
  return nas.login();
}
const createVm = async (client: RawClient, name: string, row: object) =>
  (await client.call('vm.create', { name, ...row })).id as number;

test('the ARC of ZFS takes memory, and the part that it can release counts as free', async () => {
  const client = await open({ arcMiB: 8192 });
  // 16 GiB, 2 of them the system’s, 8 the ARC's; it keeps a 32nd of the memory.
  const left = (16_384 - 2048 - 8192) * mebibyte * 0.9 + (8192 - 512) * mebibyte;
  expect(await client.call('vm.get_available_memory')).toBe(Math.floor(left));
  expect(await client.call('vm.get_available_memory', true)).toBe(Math.floor(left));
});

test('a guest with a minimum counts with its maximum, unless overcommit is set', async () => {
  const client = await open({});
  const before = await client.call('vm.get_available_memory');
  await client.call('vm.start', await createVm(client, 'one', { memory: 4096, min_memory: 1024 }));
  expect(await client.call('vm.get_memory_usage', 1)).toBe(1024 * mebibyte);
  const used = Math.floor(1024 * mebibyte * 0.9);
  expect(before - (await client.call('vm.get_available_memory', true))).toBeCloseTo(used, -1);
  expect(before - (await client.call('vm.get_available_memory'))).toBeCloseTo(used + 3072 * mebibyte, -1);
});

test('overcommit takes memory from the ARC, which gets it back when the guest stops', async () => {
  const client = await open({ arcMiB: 8192 });
  const id = await createVm(client, 'big', { memory: 15_000 });
  const info = await client.call('vm.get_vm_memory_info', id);
  const missing = 15_000 * mebibyte - (await client.call('vm.get_available_memory'));
  expect(info).toMatchObject({ overcommit_required: true, arc_to_shrink: missing, current_arc_max: 8192 * mebibyte });
  expect((await client.ask('vm.start', id)).error?.data).toMatchObject({
    error: 12,
    reason: '[ENOMEM] Cannot guarantee memory for guest big',
  });
  await client.call('vm.start', id, { overcommit: true });
  expect(nas.room.nas.arc.maximumBytes).toBe(8192 * mebibyte - missing);
  expect(nas.room.nas.arc.sizeBytes).toBe(8192 * mebibyte - missing);
  await client.call('vm.poweroff', id);
  expect(nas.room.nas.arc.maximumBytes).toBe(8192 * mebibyte);
});
