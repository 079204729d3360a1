import { expect, it } from 'vitest';
import { ResetRequest_WipeMode as WipeMode } from '../../../../src/talos/gen/machine_pb.ts';
import { openKube } from '../testing/kube-access.ts';
import type { TestClient } from '../testing/talos-test-bed.ts';
import { awaitEtcdRunning, messageOfRejection, startTestCluster } from '../testing/test-cluster.ts';

async function* piecesOf(...pieces: Uint8Array[]) {
  for (const bytes of pieces) yield { bytes: new Uint8Array(bytes) };
}

const etcdOf = async ({ machine }: TestClient) => {
  const { services = [] } = (await machine.serviceList({})).messages[0] ?? {};
  const service = services.find(({ id }) => id === 'etcd');
  return { state: service?.state, message: service?.events?.events.at(-1)?.msg };
};

it('§14: etcd is restored from a snapshot, with what was written before it, and only without data', async () => {
  const { world, client, address } = await startTestCluster('only');
  const node = await client();
  const { machine } = node;
  const kube = await openKube(address);
  const write = (name: string) =>
    world.until(`the object ${name}`, () =>
      kube('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name }, data: { a: 'b' } }),
    );
  const exists = async (name: string) =>
    (await kube('GET', `/api/v1/namespaces/default/configmaps/${name}`)) !== undefined;
  const waitsWithoutData = () =>
    world.until('etcd that waits', async () => (await etcdOf(node).catch(() => undefined))?.state === 'Preparing');
  const isThere = () => messageOfRejection(readFirst(node));
  const fails = (message: RegExp) =>
    world.until(`etcd fails with ${message}`, async () => {
      const found = await etcdOf(node);
      return found.state === 'Failed' && message.test(found.message ?? '');
    });

  await world.until('an API', () => machine.version({}).catch(() => undefined));
  expect(await messageOfRejection(machine.etcdRecover(piecesOf(Buffer.from('x'))))).toBe(
    'FailedPrecondition: etcd service is not ready for recovery yet',
  );
  await waitsWithoutData();
  await machine.bootstrap({});
  await awaitEtcdRunning(world, machine);
  const [before] = (await machine.etcdMemberList({ queryLocal: true })).messages[0]?.members ?? [];
  await write('before');
  const pieces: Uint8Array[] = [];
  for await (const { bytes } of machine.etcdSnapshot({})) pieces.push(bytes);
  const snapshot = Buffer.concat(pieces);
  await write('after');
  await readFirst(node);
  expect(await messageOfRejection(machine.bootstrap({ recoverEtcd: true }))).toBe(
    'AlreadyExists: etcd data directory is not empty',
  );

  await machine.reset({
    ...{ graceful: false, reboot: true, mode: WipeMode.SYSTEM_DISK },
    systemPartitionsToWipe: [{ label: 'EPHEMERAL', wipe: true }],
  });
  await world.until('the reset', async () => (await etcdOf(node).catch(() => undefined)) === undefined);
  await waitsWithoutData();
  expect(await isThere()).toBe('NotFound: stat /var/lib/etcd/member/snap/db: no such file or directory');

  await machine.bootstrap({ recoverEtcd: true });
  await fails(/^error verifying snapshot: stat .*no such file/);
  const changed = Buffer.from(snapshot);
  changed[5] = (changed[5] ?? 0) ^ 1;
  await machine.etcdRecover(piecesOf(changed));
  await machine.bootstrap({ recoverEtcd: true });
  await fails(/^error recovering from the snapshot: expected sha256 /);

  await machine.etcdRecover(piecesOf(snapshot.subarray(0, 700), snapshot.subarray(700)));
  await machine.bootstrap({ recoverEtcd: true });
  await awaitEtcdRunning(world, machine);
  const members = (await machine.etcdMemberList({ queryLocal: true })).messages[0]?.members ?? [];
  expect(members.map(({ hostname }) => hostname)).toEqual(['only']);
  expect(members[0]?.id).not.toBe(before?.id);
  await world.until('the API server', () => exists('before'));
  expect(await exists('after')).toBe(false);
});

async function readFirst({ machine }: TestClient): Promise<void> {
  for await (const _ of machine.read({ path: '/var/lib/etcd/member/snap/db' })) return;
}
