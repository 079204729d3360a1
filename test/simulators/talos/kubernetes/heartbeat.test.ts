import { describe, expect, it } from 'vitest';
import { openKube } from '../testing/kube-access.ts';
import { awaitStage, startTestCluster, type TestCluster } from '../testing/test-cluster.ts';

interface NodeObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly status: {
    readonly conditions: readonly { readonly type: string; readonly status: string; readonly message: string }[];
  };
}

/** Reads a Node as the administrator does; undefined while there is no Node or no API server. */
async function nodeReader(address: string): Promise<(name: string) => Promise<NodeObject | undefined>> {
  const kube = await openKube(address);
  return async (name) => (await kube('GET', `/api/v1/nodes/${name}`)) as NodeObject | undefined;
}

const readyOf = (node: NodeObject | undefined) => node?.status.conditions.find(({ type }) => type === 'Ready');

async function cluster(): Promise<{ one: TestCluster; read: (name: string) => Promise<NodeObject | undefined> }> {
  const one = await startTestCluster('one');
  const client = await one.client();
  await awaitStage(one.world, client, 'booting');
  await one.world.until('the bootstrap', () => one.world.during(client.machine.bootstrap({})));
  return { one, read: await nodeReader(one.address) };
}

describe('a kubelet', () => {
  it('reports every five minutes without any change', async () => {
    const { one, read } = await cluster();
    const known = async () => {
      const node = await read('one');
      return readyOf(node)?.status === 'True' && node;
    };
    const before = await one.world.until('the Node to be ready', known);
    const after = await one.world.until('the next report', async () => {
      const node = await known();
      return node && node.metadata.resourceVersion !== before.metadata.resourceVersion && node;
    });
    const told = ({ status }: NodeObject) => status.conditions.map(({ type, status }) => `${type} ${status}`);
    expect(told(after)).toEqual(['MemoryPressure False', 'DiskPressure False', 'PIDPressure False', 'Ready True']);
    expect(told(after)).toEqual(told(before));
  });

  it('that falls silent leaves a Node that is Unknown, until it is back', async () => {
    const { one, read } = await cluster();
    const two = one.add('two', { role: 'worker' });
    const is = (wanted: string) =>
      one.world.until(`two to be ${wanted}`, async () => readyOf(await read('two'))?.status === wanted);
    await is('True');
    two.running.kill();
    await two.running.exited;
    expect(readyOf(await read('two'))?.status).toBe('True');
    await is('Unknown');
    expect(readyOf(await read('two'))?.message).toBe('Kubelet stopped posting node status.');
    expect(readyOf(await read('one'))?.status).toBe('True');
    await two.again();
    await is('True');
  });

  it('that ends gracefully reports so before the machine stops', async () => {
    const { one, read } = await cluster();
    const two = one.add('two', { role: 'worker' });
    await one.world.until('two to be ready', async () => readyOf(await read('two'))?.status === 'True');
    two.running.pressPowerButton();
    const last = await one.world.until('its last word', async () => {
      const ready = readyOf(await read('two'));
      return ready?.status === 'False' && ready;
    });
    expect(last.message).toBe('node is shutting down');
    await one.world.until('two to be off', () => one.world.runner.node('two')?.stage === 'off');
  });
});
