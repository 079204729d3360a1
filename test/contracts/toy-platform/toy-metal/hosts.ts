import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { HostContext, HostInventory } from '../../engine/capabilities/hosts.ts';
import { done, type Step } from '../../engine/step.ts';
import type { ToyMetalConfig } from './config.ts';

/** The section `spec.toyMetal` of a Host. */
const ToyHostSpec = z
  .strictObject({
    ending: z.string().max(16).default('').describe('Files with another ending are not counted. Default: empty.'),
  })
  .describe('A server of the toy platform. serverID is the name of its folder. May be empty.');

/** The section `status.toyMetal` of a Host. */
const ToyHostStatus = z
  .strictObject({ files: z.int().min(0).describe('Number of files in it.') })
  .describe('What was found in the folder.');

type ToyHostContext = HostContext<ToyMetalConfig>;

async function countFiles({ config, host }: ToyHostContext): Promise<number> {
  const { ending } = ToyHostSpec.parse(host.platformSpec);
  const names = await readdir(join(config.folder, host.spec.serverID));
  return names.filter((name) => name.endsWith(ending)).length;
}

const filesCounted: Step<ToyHostContext> = {
  name: 'files-counted',
  async run(context) {
    await context.updateStatus({ platformStatus: { files: await countFiles(context) } });
    return done();
  },
};

export const toyInventory: HostInventory<ToyMetalConfig> = {
  schemas: {
    serverID: { pattern: /^[a-z]+-[0-9]+$/, message: 'serverID must be the name of a folder, such as rack-7' },
    spec: ToyHostSpec,
    status: ToyHostStatus,
  },
  mayClaim: () => true,
  whyUnsuitable: () => undefined,
  whyUnusable: () => undefined,
  listServers: async () => [],
  async identify({ config, host }) {
    const folders = await readdir(config.folder);
    if (!folders.includes(host.spec.serverID)) return { refused: `There is no folder ${host.spec.serverID}.` };
    return { server: { address: '', ipv6Net: '', product: 'folder', location: config.folder } };
  },
  inspect: [filesCounted],
  reboot: [],
};
