/**
 * One machine by QEMU, for `--machine-runner`: reads the document of a machine from standard input and runs the machine
 * until it ends. SIGTERM presses the ACPI button; SIGKILL is the power switch. Start it by the file `qemu` in this
 * folder.
 */
import { spawn } from 'node:child_process';
import { constants, copyFileSync, existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { MachineDocument } from './machine-document.ts';
import { tapName, toQemuArguments, variablesPath } from './qemu-arguments.ts';
import {
  attachToBridge,
  bridgeProblem,
  chooseAccelerator,
  dieWithParentPrefix,
  findQemu,
  ovmfMissing,
  type Qemu,
} from './qemu-host.ts';
import { openQemuMonitor, QemuExited } from './qemu-monitor.ts';

/** The machine cannot run on this host. The message is a sentence for people. */
class QemuProblem extends Error {}

/** Runs the machine. Resolves with the exit code. */
async function main(): Promise<number> {
  // First of all: an early press of the button must be recorded.
  const pressed = powerButtonPressed();
  const machine = readDocument(await text(process.stdin));
  const qemu = findQemu();
  if (typeof qemu === 'string') throw new QemuProblem(qemu);
  const plugged = process.env['MACHINE_NETWORK'] !== 'unplugged';
  const problem = plugged ? machine.nics.map(({ bridge }) => bridgeProblem(bridge)).find(Boolean) : undefined;
  if (problem !== undefined) throw new QemuProblem(problem);
  if (machine.firmware === 'uefi') prepareFirmware(machine, qemu);
  const isEmulated = process.env['MACHINE_ACCELERATOR'] === 'tcg';
  const accelerator = isEmulated ? 'tcg' : await chooseAccelerator(qemu.path, machine.cpuModel);
  const args = toQemuArguments(machine, { accelerator, ovmfCode: qemu.ovmf?.code, plugged });
  process.stderr.write(`${machine.name}: QEMU by ${accelerator === 'kvm' ? 'KVM' : 'emulation'}\n`);
  return await runMachine(machine, [qemu.path, ...args], plugged, pressed);
}

const powerButtonPressed = (): Promise<void> => new Promise((resolve) => process.on('SIGTERM', () => resolve()));

function readDocument(given: string): MachineDocument {
  let document: unknown;
  try {
    document = JSON.parse(given);
  } catch (error) {
    throw new QemuProblem('Standard input has to be one JSON document.', { cause: error });
  }
  const machine = MachineDocument.safeParse(document);
  if (!machine.success) throw new QemuProblem(`Not the document of a machine: ${z.prettifyError(machine.error)}`);
  const paths = [...machine.data.disks, ...machine.data.cdroms].map(({ path }) => path);
  const missing = paths.find((path) => !existsSync(path));
  if (missing !== undefined) throw new QemuProblem(`There is no file ${missing}.`);
  return machine.data;
}

function prepareFirmware(machine: MachineDocument, { ovmf }: Qemu): void {
  if (!ovmf) throw new QemuProblem(ovmfMissing);
  const path = variablesPath(machine);
  if (!existsSync(path)) copyFileSync(ovmf.variables, path, constants.COPYFILE_EXCL);
}

async function runMachine(
  machine: MachineDocument,
  command: readonly string[],
  plugged: boolean,
  pressed: Promise<void>,
): Promise<number> {
  const [program = '', ...args] = [...dieWithParentPrefix(), ...command];
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
  const monitor = openQemuMonitor(child.stdin, child.stdout);
  const work = async (): Promise<number> => {
    // Taps exist from here on; the machine is still paused.
    await monitor.execute('query-status');
    if (plugged) for (const { mac, bridge } of machine.nics) attachToBridge(tapName(mac), bridge);
    await monitor.execute('cont');
    for (let press = pressed; ; press = powerButtonPressed()) {
      await press;
      await monitor.execute('system_powerdown');
    }
  };
  const failed = async (error: unknown): Promise<number> => {
    // QEMU has printed the reason on standard error.
    if (error instanceof QemuExited) return await ended;
    child.kill('SIGKILL');
    throw error;
  };
  return await Promise.race([ended, work().catch(failed)]);
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
