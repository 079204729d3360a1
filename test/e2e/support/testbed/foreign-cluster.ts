import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { connectTalos, makeMachine, nextMac } from '../../../simulators/talos/testing/talos-test-bed.ts';
import { makeConfig, makeSecrets, type TestSecrets } from '../../../simulators/talos/testing/test-config.ts';
import { startTestFactory } from '../../../simulators/talos/testing/test-factory.ts';
import { eventually } from '../../../support/eventually.ts';
import type { Testbed } from './testbed.ts';

export interface ForeignNode {
  readonly name: string;
  readonly address: string;
  readonly role: 'controlplane' | 'worker';
}

/** A Talos cluster that the provider has not made, in the machines of a testbed. */
export interface ForeignCluster {
  readonly nodes: readonly ForeignNode[];
  readonly secrets: TestSecrets;
  readonly endpoint: string;
  /** Paths of files with its secrets: as `talosctl gen secrets` writes them, and as a control plane has them. */
  readonly files: { readonly secrets: string; readonly configuration: string };
  /** Folder of these files, for others. */
  readonly folder: string;
  close(): Promise<void>;
}

/** Its nodes run and are ready when this returns. */
export async function startForeignCluster(
  { world }: Testbed,
  subnet: string,
  { controlPlanes, workers }: Readonly<Record<'controlPlanes' | 'workers', readonly string[]>>,
): Promise<ForeignCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'foreign-'));
  const factory = await startTestFactory();
  const secrets = await makeSecrets();
  const nodes: ForeignNode[] = [
    ...controlPlanes.map((name) => ({ name, role: 'controlplane' as const })),
    ...workers.map((name) => ({ name, role: 'worker' as const })),
  ].map((node, i) => ({ ...node, address: `${subnet}.${i + 1}` }));
  const [first] = nodes;
  const endpoint = `https://${first?.address}:6443`;
  const configOf = ({ name, role, address }: ForeignNode, mac: string) =>
    makeConfig({ secrets, role, hostname: name, mac, address, endpoint, factory: factory.place });
  let configuration = '';
  for (const node of nodes) {
    const config = configOf(node, nextMac());
    if (node === first) configuration = config;
    world.machines.start(
      makeMachine(folder, node.name, { 'user-data': config, 'meta-data': 'instance-id: one\n' }, {}),
    );
  }
  const client = await connectTalos(first?.address ?? '', secrets);
  await eventually('etcd is bootstrapped', async () => {
    await client.machine.bootstrap({});
    return true;
  });
  client.close();
  const isReady = ({ name }: ForeignNode): boolean => {
    const node = world.machines.node(name);
    return node?.ready === true && node.registered;
  };
  await eventually('the foreign cluster runs', () => nodes.every(isReady), 120);
  const files = { secrets: join(folder, 'secrets.yaml'), configuration: join(folder, 'controlplane.yaml') };
  await writeFile(files.secrets, renderBundle(secrets));
  await writeFile(files.configuration, configuration);
  const close = async (): Promise<void> => {
    await factory.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { nodes, secrets, endpoint, files, folder, close };
}

/** The file of `talosctl gen secrets`, with the values that `makeConfig` uses. */
export function renderBundle({ os, kubernetes, etcd, aggregator, serviceAccountKey }: TestSecrets): string {
  const pair = ({ crt, key }: TestSecrets['os']) => ({ crt, key });
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return stringify({
    cluster: { id: base64('0123456789abcdef0123456789abcdef'), secret: base64('fedcba9876543210fedcba9876543210') },
    secrets: {
      bootstraptoken: 'fedcba.fedcba9876543210',
      secretboxencryptionsecret: base64('00112233445566778899aabbccddeeff'),
    },
    trustdinfo: { token: 'abcdef.0123456789abcdef' },
    certs: {
      etcd: pair(etcd),
      k8s: pair(kubernetes),
      k8saggregator: pair(aggregator),
      k8sserviceaccount: { key: serviceAccountKey },
      os: pair(os),
    },
  });
}
