import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createNetworkNamespace } from '../../world/machine-runner/network-namespace.ts';

it('creates and deletes a cluster in a network namespace of its own, at addresses outside of loopback', async ({
  skip,
}) => {
  const network = await createNetworkNamespace('192.0.2.1/24', 'simulated nodes');
  if (typeof network === 'string') return skip(network);
  try {
    const script = join(import.meta.dirname, '../support/testbed/network-namespace-script.ts');
    const seen = JSON.parse(await network.ask([process.execPath, '--import', 'tsx', script, '192.0.2']));
    const inside = expect.stringMatching(/^192\.0\.2\.\d+$/);
    expect(seen).toEqual({
      endpoint: expect.stringMatching(/^https:\/\/192\.0\.2\.\d+:6443$/),
      nodes: [inside],
      simulators: expect.toSatisfy((urls: string[]) => urls.filter((url) => url.includes('//192.0.2.1:')).length >= 3),
      left: 0,
      faults: [],
    });
  } finally {
    await network.close();
  }
});
