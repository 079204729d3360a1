import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { findPeer, peers } from '../../peers/find-peer.ts';
import { cpu } from './qemu-arguments.ts';

/** QEMU itself, and the firmware for UEFI machines. */
export interface Qemu {
  readonly path: string;
  /** Undefined: there is none, and only BIOS machines can run. */
  readonly ovmf: { readonly code: string; readonly variables: string } | undefined;
}

/** Locations of OVMF in distributions and QEMU: the program, and the initial variables. */
const ovmfPaths = [
  ['/usr/share/OVMF/OVMF_CODE_4M.fd', '/usr/share/OVMF/OVMF_VARS_4M.fd'],
  ['/usr/share/OVMF/OVMF_CODE.fd', '/usr/share/OVMF/OVMF_VARS.fd'],
  ['/usr/share/edk2/ovmf/OVMF_CODE.fd', '/usr/share/edk2/ovmf/OVMF_VARS.fd'],
  ['/usr/share/edk2/x64/OVMF_CODE.4m.fd', '/usr/share/edk2/x64/OVMF_VARS.4m.fd'],
  ['/usr/share/qemu/edk2-x86_64-code.fd', '/usr/share/qemu/edk2-i386-vars.fd'],
] as const;

/** QEMU and OVMF of this machine, or one sentence that names the missing part. */
export function findQemu(): Qemu | string {
  const path = findPeer('qemu-system-x86_64');
  if (path === undefined) return `qemu-system-x86_64 not found: ${peers['qemu-system-x86_64'].remedy}.`;
  const { OVMF_CODE: code, OVMF_VARS: variables } = process.env;
  if (code && variables) return { path, ovmf: { code, variables } };
  const place = ovmfPaths.find((files) => files.every((file) => existsSync(file)));
  return { path, ovmf: place && { code: place[0], variables: place[1] } };
}

export const ovmfMissing =
  'OVMF not found: install it (Debian: ovmf), or set OVMF_CODE and OVMF_VARS to its two files.';

/**
 * KVM where it works, else emulation. An accessible device is not sufficient evidence, e.g. in a container or a virtual
 * machine: only QEMU itself can tell, with the requested processor.
 */
export async function chooseAccelerator(qemu: string, cpuModel: string | null): Promise<'kvm' | 'tcg'> {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
  } catch {
    return 'tcg';
  }
  const machine = ['-machine', 'q35', '-accel', 'kvm', ...cpu(cpuModel), '-nodefaults', '-display', 'none', '-S'];
  const child = spawn(qemu, [...machine, '-qmp', 'stdio'], { stdio: ['pipe', 'ignore', 'ignore'], timeout: 10_000 });
  child.stdin.on('error', () => undefined);
  child.stdin.end('{"execute":"qmp_capabilities"}\n{"execute":"quit"}\n');
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0 ? 'kvm' : 'tcg';
}

/** Why a bridge cannot be used; undefined when it can. */
export function bridgeProblem(bridge: string): string | undefined {
  const { status, stdout, error } = ip(['-oneline', 'link', 'show', 'dev', bridge, 'type', 'bridge']);
  if (error) return `Networks need the program ip: ${error.message}`;
  if (status === 0 && stdout !== '') return undefined;
  return `There is no bridge ${JSON.stringify(bridge)} here: make one (test/peers/README.md says how), or set MACHINE_NETWORK=unplugged.`;
}

/** Attaches a network device to a bridge. Throws an Error with the message of `ip`. */
export function attachToBridge(tap: string, bridge: string): void {
  const { status, stderr } = ip(['link', 'set', 'dev', tap, 'master', bridge, 'up']);
  if (status !== 0) throw new Error(`${tap} cannot be plugged into ${bridge}: ${stderr.trim()}`);
}

const ip = (args: readonly string[]) => spawnSync('ip', args, { encoding: 'utf8', timeout: 10_000 });

/** Prefix of a command that ends it when its parent ends for any reason, if this machine supports it. */
export function dieWithParentPrefix(): string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);
  const setpriv = folders.map((folder) => join(folder, 'setpriv')).find((path) => existsSync(path));
  return setpriv ? [setpriv, '--pdeathsig', 'KILL', '--'] : [];
}
