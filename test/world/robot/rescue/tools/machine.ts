import type { RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

/** The number of processors. */
const nproc: RescueProgram = async (process) => {
  await process.out(`${process.system.hardware.cpu.threads}\n`);
  return 0;
};

/** Writes reach the simulated disks at once. */
const sync: RescueProgram = () => 0;

/** `udevadm settle` waits for the names and links of drives. */
const udevadm: RescueProgram = async (process) => {
  const { operands } = parseArguments(process, { long: ['timeout='] });
  if (operands.join() !== 'settle') return await process.fail('only settle is simulated', 2);
  await process.system.awaitSettled();
  return 0;
};

export const machineTools: Readonly<Record<string, RescueProgram>> = { nproc, sync, udevadm };
