import { z } from 'zod';
import type { CheckContext, Finding } from '../../engine/platform.ts';
import type { CallOptions, TrueNas } from './client.ts';
import type { TrueNasConfig } from './config.ts';
import { Virtualization } from './schema.ts';

/** Names of architectures with the types of machines that there are of each. */
const Guests = z.record(z.string(), z.unknown());
const Models = z.record(z.string(), z.unknown());

/** Images are x86-64, whatever else a system could run. */
const architecture = 'x86_64';

/** Whether the system runs machines of the kind that ours are, on processors as the sizes name them. */
export async function checkCpu(
  nas: TrueNas,
  { config }: CheckContext<TrueNasConfig>,
  options: CallOptions,
): Promise<Finding[]> {
  const { supported, error } = await nas.read('vm.virtualization_details', [], Virtualization, options);
  if (!supported) {
    const message = `${nas.host} cannot run virtual machines${error ? ` (${error})` : ''}. Switch virtualization on in its firmware.`;
    return [{ field: 'truenas.url', reason: 'VirtualizationUnsupported', message }];
  }
  const guests = Object.keys(await nas.read('vm.guest_architecture_and_machine_choices', [], Guests, options));
  if (!guests.includes(architecture)) {
    const message = `${nas.host} runs virtual machines of ${guests.sort().join(', ') || 'no kind'} and not of ${architecture}, which the images are for. Name a system with an x86-64 processor.`;
    return [{ field: 'truenas.url', reason: 'ArchitectureUnsupported', message }];
  }
  return await checkModels(nas, config, options);
}

async function checkModels(nas: TrueNas, { sizes }: TrueNasConfig, options: CallOptions): Promise<Finding[]> {
  if (sizes.every(({ cpuModel = 'host' }) => cpuModel === 'host')) return [];
  const offered = Object.keys(await nas.read('vm.cpu_model_choices', [], Models, options));
  return sizes.flatMap(({ cpuModel = 'host' }, index) => {
    if (cpuModel === 'host' || offered.includes(cpuModel)) return [];
    const message = `${nas.host} offers no processor ${cpuModel}. It offers these: ${[...offered].sort().join(', ')}.`;
    return [{ field: `truenas.sizes[${index}].cpuModel`, reason: 'CpuModelUnknown', message }];
  });
}
