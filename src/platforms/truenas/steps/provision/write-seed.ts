import { done, type Step } from '../../../../engine/platform.ts';
import { ProviderError } from '../../../../lib/errors.ts';
import { upload } from '../../api/upload.ts';
import { dataDisksOf } from '../../resources/disk/data-disks.ts';
import {
  findFile,
  findOwnDataset,
  type MachineScope,
  machineScopeOf,
  type TrueNasStepContext,
} from '../../resources/machine-scope.ts';
import { buildSeed } from '../../resources/nocloud-seed.ts';
import { toNodeHardware } from '../../resources/vm/node-hardware.ts';

/**
 * Before: the dataset exists. After: the seed with the whole machine configuration lies in the dataset. Done when a file
 * of its name, which follows from its content, has its size. One that is not written down yet is written again.
 */
export const seedWritten: Step<TrueNasStepContext> = {
  name: 'seed-written',
  async run(context) {
    const system = machineScopeOf(context);
    const hardware = toNodeHardware(context, system.identity, dataDisksOf(context));
    const [link] = hardware.links;
    if (!link) throw new ProviderError('INTERNAL', 'A machine without a network card.');
    const machineConfig = await context.machineConfig(hardware);
    const seed = buildSeed({
      hostname: context.node.name,
      instanceId: system.identity.uuid,
      link,
      machineConfig,
    });
    const path = `/mnt/${system.identity.dataset}/${seed.fileName}`;
    const known = context.facts['seed'] === path ? await findFile(system, path) : undefined;
    if (known?.size !== seed.image.length) await writeSeed(context, system, path, seed.image);
    return done({ seed: path, seedEmptied: false });
  },
};

/**
 * Puts a disc image into the machine's own dataset, in the place of what is there under its name. It is there as a whole when this
 * returns: the job that wrote it has ended well, and it began with a request that had come to its end.
 */
export async function writeSeed(
  context: TrueNasStepContext,
  system: MachineScope,
  path: string,
  image: Buffer,
): Promise<void> {
  const { dataset } = system.identity;
  // TrueNAS would make a folder in its place, which nobody takes away again.
  if (!(await findOwnDataset(system, dataset))) throw new ProviderError('TRUENAS_NOT_FOUND', `The dataset ${dataset}.`);
  const content = (async function* () {
    yield image;
  })();
  const { signal } = context;
  // The hypervisor reads it as another user, and TrueNAS refuses a CD-ROM that it cannot read.
  await upload(system.nas, context, { path, mode: 0o644, bytes: image.length, content, signal, seconds: 120 });
}
