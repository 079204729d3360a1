import { describe, expect, it } from 'vitest';
import { FakeDiskKeyStore } from '../../../../test/support/harness/fake-disk-key-store.ts';
import { annotations, labels } from '../../../api/names.ts';

const name = 'shop-cp-0-disk-key';
const foreign = (data?: Record<string, string>) => ({
  ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name } },
  ...(data ? { data } : {}),
});
const opens = { system: 'nas.example.org', roots: ['1:tank/talos/a', '2:fast/talos/a'] };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

it('T26: a key is generated once, is stored before its use, and never changes', async () => {
  const store = new FakeDiskKeyStore();
  const key = store.of('shop-cp-0');
  expect(key.isKept()).toBe(false);
  const drawn = (await key.ensure(opens)).reveal();
  expect(drawn).toMatch(/^[0-9a-f]{64}$/);
  expect([(await key.ensure(opens)).reveal(), (await key.read()).reveal()]).toEqual([drawn, drawn]);
  expect([key.isKept(), store.calls.filter((call) => call.startsWith('create')).length]).toEqual([true, 1]);
  expect(store.secrets.get(name)).toMatchObject({
    metadata: {
      ...{ name, labels: { [labels.provider]: 'talos', [labels.diskKey]: 'shop-cp-0' } },
      annotations: { [annotations.madeOn]: 'nas.example.org', [annotations.opens]: '1:tank/talos/a,2:fast/talos/a' },
    },
    immutable: true,
    data: { passphrase: base64(drawn) },
  });
  expect(store.secrets.get(name)?.metadata).not.toHaveProperty('ownerReferences');
  expect((await store.of('shop-cp-1').ensure(opens)).reveal()).not.toBe(drawn);
});

it('T26: a key that another process creates concurrently is used', async () => {
  const store = new FakeDiskKeyStore();
  const theirs = await new FakeDiskKeyStore().of('shop-cp-0').ensure(opens);
  const object = { ...foreign({ passphrase: base64(theirs.reveal()) }) };
  const marked = {
    ...object,
    metadata: { name, labels: { [labels.provider]: 'talos', [labels.diskKey]: 'shop-cp-0' } },
  };
  store.meanwhile = () => store.secrets.set(name, marked);
  expect((await store.of('shop-cp-0').ensure(opens)).reveal()).toBe(theirs.reveal());
});

it('T26: a missing or empty key is not replaced for existing disks', async () => {
  const store = new FakeDiskKeyStore();
  const key = store.of('shop-cp-0');
  await expect(key.read()).rejects.toMatchObject({
    code: 'DISK_KEY_MISSING',
    message: expect.stringContaining(key.location),
  });
  store.secrets.set(name, foreign());
  await expect(key.read()).rejects.toMatchObject({ code: 'DISK_KEY_MISSING' });
  expect([key.isKept(), store.calls.some((call) => call.startsWith('create'))]).toEqual([false, false]);
});

it('T26: a key without our labels opens existing disks, is not used for new ones, and is never removed', async () => {
  const store = new FakeDiskKeyStore();
  store.secrets.set(name, foreign({ passphrase: base64('brought back\n') }));
  const key = store.of('shop-cp-0');
  expect((await key.read()).reveal()).toBe('brought back');
  await expect(key.ensure(opens)).rejects.toMatchObject({ code: 'OWNED_BY_OTHERS' });
  await key.delete();
  expect(store.secrets.size).toBe(1);
});

it('T26: a key can be removed more than once', async () => {
  const store = new FakeDiskKeyStore();
  const key = store.of('shop-cp-0');
  await key.ensure(opens);
  await key.delete();
  await key.delete();
  expect([store.secrets.size, store.calls.filter((call) => call.startsWith('remove')).length]).toEqual([0, 1]);
});

describe('a key of another Cluster', () => {
  const { signal } = new AbortController();
  const cluster = { namespace: 'team', name: 'shop', uid: 'old' };
  const again = { ...cluster, uid: 'new' };

  it('is neither used nor removed for a Machine of the same name', async () => {
    const store = new FakeDiskKeyStore();
    await store.of('shop-cp-0', signal, cluster).ensure(opens);
    const kept = structuredClone(store.secrets.get(name));
    const key = store.of('shop-cp-0', signal, again);
    expect(key.isKept()).toBe(false);
    const rejection = { code: 'NAME_COLLISION', message: expect.stringContaining('Cluster team/shop with UID old') };
    await expect(key.ensure(opens)).rejects.toMatchObject(rejection);
    await expect(key.read()).rejects.toMatchObject(rejection);
    await key.delete();
    expect(store.secrets.get(name)).toEqual(kept);
  });

  it('is removed with an orphan, or with its own Cluster', async () => {
    const store = new FakeDiskKeyStore();
    await store.of('shop-cp-0', signal, cluster).ensure(opens);
    await store.of('shop-cp-0', signal, cluster).delete();
    await store.of('shop-cp-0', signal, cluster).ensure(opens);
    await store.of('shop-cp-0', signal).delete();
    expect(store.secrets.size).toBe(0);
  });
});
