import type { RescueProgram } from '../process.ts';
import { arrayTools } from './arrays.ts';
import { blockDeviceTools } from './block-devices.ts';
import { compressionTools } from './compression.ts';
import { dd } from './dd.ts';
import { fetchTools } from './fetch.ts';
import { fileTools } from './files.ts';
import { efibootmgr } from './firmware.ts';
import { hashes } from './hashes.ts';
import { lockTools } from './locks.ts';
import { lsblk } from './lsblk.ts';
import { machineTools } from './machine.ts';
import { mountTools } from './mounts.ts';
import { networkTools } from './network.ts';
import { od } from './od.ts';
import { powerTools } from './power.ts';
import { processTools } from './processes.ts';
import { searchTools } from './search.ts';
import { shells } from './shells.ts';
import { signatureTools } from './signatures.ts';
import { smartctl } from './smartctl.ts';
import { text } from './text.ts';

/** Every program of the rescue system by name. */
export const programs: ReadonlyMap<string, RescueProgram> = new Map(
  Object.entries({
    ...{ ...text, ...fileTools, ...hashes, ...searchTools, ...processTools, ...shells, ...compressionTools },
    ...{ ...blockDeviceTools, ...signatureTools, ...arrayTools, ...mountTools, ...networkTools, ...fetchTools },
    ...{ ...machineTools, ...powerTools, ...lockTools, dd, od, efibootmgr, lsblk, smartctl },
  }),
);
