import { z } from 'zod';
import type { PlatformContext } from '../../../engine/contexts.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import type { TrueNasClient } from '../api/client.ts';
import { Virtualization } from '../api/schema.ts';
import type { TrueNasCallOptions } from '../api/subscriber.ts';
import type { TrueNasConfig } from '../config/config.ts';

/** Machine types by architecture. */
const GuestArchitectures = z.record(z.string(), z.unknown());
const CpuModels = z.record(z.string(), z.unknown());

/** Images are x86-64, whatever the system supports. */
const imageArchitecture = 'x86_64';

/** Checks that the system runs x86-64 machines, and has the CPU models of the sizes. */
export async function checkCpu(
  nas: TrueNasClient,
  { config }: PlatformContext<TrueNasConfig>,
  options: TrueNasCallOptions,
): Promise<Diagnostic[]> {
  const { supported, error } = await nas.read('vm.virtualization_details', [], Virtualization, options);
  if (!supported) {
    const message = `${nas.host} cannot run virtual machines${error ? ` (${error})` : ''}. Enable virtualization in its firmware.`;
    return [{ field: 'truenas.url', reason: 'VirtualizationUnsupported', message }];
  }
  const guests = Object.keys(
    await nas.read('vm.guest_architecture_and_machine_choices', [], GuestArchitectures, options),
  );
  if (!guests.includes(imageArchitecture)) {
    const message = `${nas.host} supports virtual machines of ${guests.sort().join(', ') || 'no architecture'} and not of ${imageArchitecture}, the architecture of the images. Use a system with an x86-64 processor.`;
    return [{ field: 'truenas.url', reason: 'ArchitectureUnsupported', message }];
  }
  return await checkCpuModels(nas, config, options);
}

async function checkCpuModels(
  nas: TrueNasClient,
  { sizes }: TrueNasConfig,
  options: TrueNasCallOptions,
): Promise<Diagnostic[]> {
  if (sizes.every(({ cpuModel = 'host' }) => cpuModel === 'host')) return [];
  const offered = Object.keys(await nas.read('vm.cpu_model_choices', [], CpuModels, options));
  return sizes.flatMap(({ cpuModel = 'host' }, index) => {
    if (cpuModel === 'host' || offered.includes(cpuModel)) return [];
    const message = `${nas.host} does not offer the CPU model ${cpuModel}. It offers: ${[...offered].sort().join(', ')}.`;
    return [{ field: `truenas.sizes[${index}].cpuModel`, reason: 'CpuModelUnknown', message }];
  });
}
