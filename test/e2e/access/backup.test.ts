import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { clusterSecretsName } from '../../../src/api/names.ts';
import { accessRoles } from '../../../src/commands/access/find-cluster-access.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { eventually } from '../../support/eventually.ts';
import { runProgram } from '../../support/run-program.ts';
import { withTalosAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.239' });
const ref = { namespace: 'shop', name: 'kept' };
let kubeconfig: string;
let folder: string;
let identities: string[];
let recipients: string[];

beforeAll(async () => {
  identities = await Promise.all([generateIdentity(), generateIdentity()]);
  recipients = await Promise.all(identities.map((identity) => identityToRecipient(identity)));
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'backup-'));
  return async () => await rm(folder, { recursive: true, force: true });
});

prepareTestbed(open, async (testbed) => {
  const { objects } = testbed;
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3 });
  await objects.cluster(ref);
  const isReady = async () => (await objects.getCluster(ref)).status?.phase === 'Ready';
  await eventually('the Cluster is ready', isReady, 120);
  kubeconfig = await testbed.kubeconfigWith(accessRoles.file);
});
afterAll(() => open().world.machines.snapshots.faults.clear());

/** The name of the node that leads etcd. */
async function findLeader(): Promise<string | undefined> {
  const [machine] = await open().objects.machines(ref);
  return await withTalosAdminClient(open(), ref, machine?.status?.address ?? '', async (node) => {
    const { leaderId } = await node.etcdStatus();
    return (await node.etcdMembers()).find(({ id }) => id === leaderId)?.name;
  });
}

/** Runs the command with the rights of config/rbac/access.yaml. */
const backUp = (...words: string[]) =>
  runProgram('backup', '--cluster', 'shop/kept', '--kubeconfig', kubeconfig, '--output-folder', folder, ...words);
const forBoth = () => recipients.map((recipient) => `--recipient=${recipient}`);

async function decrypt(path: string, identity = identities[0] ?? ''): Promise<Buffer> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  return Buffer.from(await decrypter.decrypt(await readFile(path)));
}

describe('D50, D51: a backup', () => {
  it('is a whole snapshot of etcd and the Secrets of the cluster, which each identity decrypts', async () => {
    const { code, out, err } = await backUp(...forBoth());
    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('the snapshot of etcd is whole') });
    const [etcd = '', secrets = '', objects = ''] = out.trim().split('\n');
    expect((await readdir(folder)).map((name) => join(folder, name)).sort()).toEqual([etcd, objects, secrets]);
    expect(etcd).toMatch(/\/shop-kept-\d{8}T\d{6}Z\.etcd\.age$/);
    for (const path of [etcd, secrets, objects]) expect((await stat(path)).mode & 0o777).toBe(0o600);
    for (const identity of identities) {
      const snapshot = await decrypt(etcd, identity);
      const database = snapshot.subarray(0, -32);
      expect(database.length % 512).toBe(0);
      expect(snapshot.subarray(-32)).toEqual(createHash('sha256').update(database).digest());
    }
    const name = clusterSecretsName(ref);
    const { namespace } = open();
    const { data } = await open().platform.get(Secret, { namespace, name });
    const manifests = parseAllDocuments((await decrypt(secrets)).toString('utf8')).map((one) => one.toJS());
    expect(manifests[0]).toMatchObject({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, data });
    expect(manifests[0].metadata).not.toHaveProperty('ownerReferences');
  });

  it('comes from a member that does not lead etcd, and is recorded on the Cluster', async () => {
    const before = open().calls.length;
    const machines = (await open().objects.machines(ref)).map(({ metadata }) => metadata.name);
    await backUp(...forBoth());
    const calls = open()
      .calls.slice(before)
      .filter(({ simulator }) => simulator === 'talos');
    const isSnapshot = ({ name }: { name: string }) => name.endsWith('/EtcdSnapshot');
    expect(calls.filter(isSnapshot)).toHaveLength(1);
    const { items } = await open().platform.list(Event, { namespace: ref.namespace });
    const [message = ''] = items.filter(({ reason }) => reason === 'BackupTaken').map(({ message }) => message);
    const [, machine] = /^User \S+ took a backup: \d+ bytes of etcd from (\S+), and the Secrets/.exec(message) ?? [];
    expect(machines).toContain(machine);
    expect(machine).not.toBe(await findLeader());
  });

  it.each([
    ['cut', /it was cut off after \d+ bytes/],
    ['changed', /its checksum is not that of its content/],
  ] as const)('is not kept of a snapshot that was %s, though the node reports success', async (fault, problem) => {
    const { faults } = open().world.machines.snapshots;
    faults.add(fault);
    const { code, err } = await backUp(...forBoth());
    faults.delete(fault);
    expect(code).toBe(1);
    expect(err).toMatch(problem);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('the command names what is wrong', () => {
  it.each<[string, string[], RegExp]>([
    ['no recipient', [], /--recipient .* is missing/],
    ['a private key', ['--recipient', 'AGE-SECRET-KEY-1ABC'], /This is a private key/],
    ['no key', ['--recipient', 'ssh-ed25519 AAAA'], /Use the public key of an identity, age1/],
  ])('%s', async (_, words, message) => {
    const { code, err } = await backUp(...words);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(message) });
    expect(err).not.toContain('SECRET-KEY-1');
  });

  it('a key with a wrong checksum, and a folder that does not exist', async () => {
    const wrong = `age1${'q'.repeat(58)}`;
    expect(await backUp('--recipient', wrong)).toMatchObject({
      code: 1,
      err: expect.stringContaining('is no public key'),
    });
    const missing = await backUp(...forBoth(), '--output-folder', join(folder, 'none'));
    expect(missing).toMatchObject({ code: 1, err: expect.stringMatching(/--output-folder: .*none is no folder/) });
    expect(await readdir(folder)).toEqual([]);
  });
});
