import { describe, expect, it } from 'vitest';
import { join, provisionUpTo, unhurried, versions } from './rehearsal.ts';
import { type Durable, Process, room, shape, start, useScene, vmOf } from './scene.ts';

useScene();

/** Names of the calls of a machine, in their order, but for those about jobs. */
async function callsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  room.switchboard.calls.length = 0;
  await work();
  return room.switchboard.calls.map(({ name }) => name).filter((name) => !/^(auth|core)\./.test(name));
}

/** Once `name` was called for the nth time, somebody else does something before that call does its work. */
function meanwhile(name: string, nth: number, work: () => Promise<unknown>): () => Promise<unknown> {
  let seen = 0;
  let done: Promise<unknown> = Promise.resolve();
  room.switchboard.onCall((call) => {
    if (call.name !== name) return;
    seen += 1;
    if (seen === nth) done = work();
  });
  return () => done;
}

describe('looks of a machine that nothing disturbs', () => {
  it.each(versions)('are ten from nothing to a member and back, on TrueNAS %s', async (version) => {
    await start({ version });
    const process = new Process(unhurried);
    await process.walk('provision', 'warm-up', { progress: undefined });
    const durable: Durable = { progress: undefined };
    const looks = async (plan: 'provision' | 'release') => {
      const calls = await callsOf(() => process.walk(plan, 'shop-cp-0', durable));
      return calls.filter((name) => /(query|stat)$/.test(name));
    };
    const first = ['pool.dataset.query', 'filesystem.stat', 'vm.query', 'filesystem.stat', 'vm.query'];
    expect(await looks('provision')).toEqual(first);
    join(durable);
    const [asked, off, ...proofs] = await looks('release');
    expect([asked, off]).toEqual(['vm.query', 'vm.query']);
    // Two at the same time prove that all may go, and one that it went.
    expect(proofs.sort()).toEqual(['pool.dataset.query', 'pool.dataset.query', 'vm.query']);
  });
});

describe('what a step has handed over', () => {
  it('is not used after a failure: whoever goes on looks anew', async () => {
    await start();
    await new Process().walk('provision', 'warm-up', { progress: undefined });
    room.switchboard.fail('truenas', /^vm\.device\.create$/, { kind: 'lose-reply' }, 1);
    const calls = await callsOf(() => new Process().walk('provision', 'shop-cp-0', { progress: undefined }));
    const struck = calls.indexOf('vm.device.create');
    const later = calls.slice(struck + 1);
    expect(later.slice(0, later.indexOf('vm.device.create'))).toContain('vm.query');
    expect(shape()).toMatchObject({ devices: 8 });
  });

  it.each([
    ['disk-created', 'pool.dataset.query'],
    ['devices-attached', 'vm.query'],
    ['powered-on', 'vm.query'],
  ])('is not there after a restart in %s, which begins with %s', async (step, look) => {
    await start();
    const durable = await provisionUpTo(step);
    const calls = await callsOf(() => new Process(unhurried).walk('provision', 'shop-cp-0', durable));
    expect(calls.find((name) => !/memory/.test(name))).toBe(look);
  });

  it('S24: does not make ours what somebody else made of our name in between', async () => {
    await start();
    const first: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', first);
    await new Process().walk('release', 'shop-cp-0', first);
    const name = String(first.progress?.facts['dataset']);
    const client = await room.login();
    const done = meanwhile('filesystem.stat', 1, () => client.call('pool.dataset.create', { name, comments: 'mine' }));
    const verdict = await new Process(unhurried).walk('provision', 'shop-cp-0', { progress: undefined });
    await done();
    expect(verdict).toMatchObject({ kind: 'failed', reason: 'OwnedByOthers' });
    expect(shape().datasets.filter((id) => id.startsWith(name))).toEqual([name]);
  });

  it('S47: proves nothing to a deletion: who uses the disk since is not disturbed', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    join(durable);
    const client = await room.login();
    const { id: vm } = await client.call('vm.create', { name: 'other', memory: 1024 });
    const path = `/dev/zvol/${durable.progress?.facts['dataset']}/boot`;
    const done = meanwhile('vm.delete', 1, () =>
      client.call('vm.device.create', { vm, attributes: { dtype: 'DISK', path } }),
    );
    const verdict = await new Process(unhurried).walk('release', 'shop-cp-0', durable);
    await done();
    expect(verdict).toMatchObject({ kind: 'failed', reason: 'DatasetInUse' });
    expect([vmOf('shop-cp-0'), shape().datasets.filter((id) => id.endsWith('/boot')).length]).toEqual([undefined, 1]);
  });
});
