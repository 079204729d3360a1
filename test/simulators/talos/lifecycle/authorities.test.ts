import { expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { ApplyConfigurationRequest_Mode as Mode } from '../../../../src/talos/gen/machine_pb.ts';
import { openKube } from '../testing/kube-access.ts';
import { connectTalos, makeSecrets, type TestClient, type TestSecrets } from '../testing/talos-test-bed.ts';
import { awaitBootFromDisk, sharedTestSecrets, startTestCluster } from '../testing/test-cluster.ts';

/** The certificate authorities of a configuration that is changed while the node runs. */

type Fields = Record<string, unknown>;

/** Edits one section of the main document. */
function withSection(text: string, section: 'machine' | 'cluster', change: Fields): string {
  const [main = '', ...others] = text.split('---\n');
  const fields = parse(main) as Record<string, Fields>;
  return [stringify({ ...fields, [section]: { ...fields[section], ...change } }), ...others].join('---\n');
}

const apply = ({ machine }: TestClient, text: string) =>
  machine.applyConfiguration({ data: Buffer.from(text), mode: Mode.NO_REBOOT });

async function isAccepted(address: string, secrets: TestSecrets): Promise<boolean> {
  const client = await connectTalos(address, secrets);
  try {
    await client.machine.version({});
    return true;
  } catch {
    return false;
  } finally {
    client.close();
  }
}

it('the Talos API follows machine.ca and machine.acceptedCAs at once, and open connections stay', async () => {
  const cluster = await startTestCluster('authorities');
  const { world, address } = cluster;
  await awaitBootFromDisk(cluster);
  const [old, next] = [await sharedTestSecrets(), await makeSecrets()];
  const node = await cluster.client();
  const accepts = async () => [await isAccepted(address, old), await isAccepted(address, next)].join();
  expect(await accepts()).toBe('true,false');

  const accepting = withSection(cluster.config, 'machine', { acceptedCAs: [{ crt: next.os.crt }] });
  await apply(node, accepting);
  // A client of the new authority does not trust the certificate of the former one.
  const mixed = { ...next, os: { ...next.os, authority: { ...next.os.authority, pem: old.os.authority.pem } } };
  await world.until('a client of the new authority', () => isAccepted(address, mixed));
  expect(await accepts()).toBe('true,false');

  const { crt, key } = next.os;
  await apply(node, withSection(accepting, 'machine', { ca: { crt, key }, acceptedCAs: [{ crt: old.os.crt }] }));
  await world.until('a certificate of the new authority', async () => (await accepts()) === 'false,true');

  await apply(node, withSection(cluster.config, 'machine', { ca: { crt, key } }));
  expect((await node.machine.version({})).messages).toHaveLength(1);
  const former = { ...old, os: { ...old.os, authority: { ...old.os.authority, pem: next.os.authority.pem } } };
  await world.until('the end of the former one', async () => !(await isAccepted(address, former)));
  expect(await isAccepted(address, next)).toBe(true);
});

it('the API server, the kubelet and the static pods restart with the authorities of Kubernetes', async () => {
  const cluster = await startTestCluster('kube-authorities');
  const { world, machine, address } = cluster;
  await awaitBootFromDisk(cluster);
  const node = await cluster.client();
  await world.until('the bootstrap', () => world.during(node.machine.bootstrap({})));
  await world.until('a ready node', () => world.runner.node(machine.name)?.ready);
  const [old, next] = [await sharedTestSecrets(), await makeSecrets()];
  const kubelets = async () => {
    const { services = [] } = (await node.machine.serviceList({})).messages[0] ?? {};
    const events = services.find(({ id }) => id === 'kubelet')?.events?.events ?? [];
    return events.filter(({ state }) => state === 'Running').length;
  };
  const started = await kubelets();
  const namespaces = async (secrets: TestSecrets) => (await openKube(address, secrets))('GET', '/api/v1/namespaces');
  expect(await namespaces(old)).toBeDefined();

  const { crt, key } = next.kubernetes;
  const accepted = { ca: { crt, key }, acceptedCAs: [{ crt: old.kubernetes.crt }] };
  await apply(node, withSection(cluster.config, 'cluster', accepted));
  await world.until('the new authority', async () => (await namespaces(next)) !== undefined);
  const { authority } = next.kubernetes;
  const trusting = (secrets: TestSecrets): TestSecrets => ({
    ...secrets,
    kubernetes: { ...secrets.kubernetes, authority: { ...secrets.kubernetes.authority, pem: authority.pem } },
  });
  expect(await namespaces(trusting(old))).toBeDefined();
  await world.until('the new kubelet', async () => (await kubelets()) === started + 1);

  await apply(node, withSection(cluster.config, 'cluster', { ca: { crt, key } }));
  await world.until('the end of the former one', async () => {
    const isServing = (await namespaces(next)) !== undefined;
    return isServing && (await namespaces(trusting(old))) === undefined;
  });
  await world.until('a ready node', () => world.runner.node(machine.name)?.ready);
});
