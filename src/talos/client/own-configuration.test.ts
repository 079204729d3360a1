import { expect, it } from 'vitest';
import { config, NodeModel } from '../../../test/talos/node-model.ts';
import { machineIdAnnotation } from '../config/machine-id-annotation.ts';
import { readOwnConfiguration } from './own-configuration.ts';

const annotated = (id: string) => config(`nodeAnnotations: {${machineIdAnnotation}: ${id}}`);

async function read(active: ReturnType<typeof config>, configuration?: ReturnType<typeof config>): Promise<string> {
  const node = new NodeModel();
  node.active = active;
  const own = { providerId: 'truenas://nas/one', ...(configuration && { configuration }) };
  return (await readOwnConfiguration(node.client(), own, {})).reveal();
}

it('reads the configuration of a machine that an annotation identifies', async () => {
  const own = annotated('truenas://nas/one');
  expect(await read(own)).toBe(own.reveal());
  expect(await read(own, annotated('truenas://nas/one'))).toBe(own.reveal());
});

it('rejects another machine at its address, which has the name and the certificates of the cluster as well', async () => {
  await expect(read(annotated('truenas://nas/two'))).rejects.toMatchObject({
    code: 'TALOS_FOREIGN_NODE',
    message: expect.stringContaining('is truenas://nas/two and not truenas://nas/one. Power that machine off'),
  });
  await expect(read(annotated('truenas://nas/two'), annotated('truenas://nas/one'))).rejects.toMatchObject({
    code: 'TALOS_FOREIGN_NODE',
  });
});

it('rejects another machine also after its own one had the same configuration', async () => {
  const shared = annotated('truenas://nas/one');
  await read(shared);
  const node = new NodeModel();
  node.active = shared;
  await expect(readOwnConfiguration(node.client(), { providerId: 'truenas://nas/two' }, {})).rejects.toMatchObject({
    code: 'TALOS_FOREIGN_NODE',
  });
});
