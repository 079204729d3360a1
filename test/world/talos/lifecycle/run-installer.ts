import { validationContext } from '../boot/acquire-config.ts';
import { talosMinorOf } from '../boot/decide-boot.ts';
import type { InstalledSystem } from '../boot/disk-partitions.ts';
import { writeOtherSlot } from '../boot/system-slots.ts';
import { ConfigError, errorList } from '../config/config-error.ts';
import { decodeConfig } from '../config/decode-config.ts';
import { validateAsClient } from '../config/validate-config.ts';
import { pullQuietly } from '../images/pull-image.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';

/** Pulls an installer into the memory of the node, and returns the system that it writes. */
export async function pullInstaller(node: TalosNode, reference: string, signal: AbortSignal): Promise<InstalledSystem> {
  const { system } = await pullQuietly(node, { namespace: 'memory/system', reference, signal });
  if (!system) throw new Error(`${reference}: exec: "/bin/installer": stat /bin/installer: no such file or directory`);
  return system;
}

/** The life of an installation. */
export interface InstallRun {
  readonly signal: AbortSignal;
  readonly sleep: (seconds: number) => Promise<void>;
}

/** The installer of an upgrade. */
export interface InstallerRun extends Pick<InstallRun, 'sleep'> {
  readonly system: InstalledSystem;
  /** Receives its output, a line at a time. */
  readonly print: (line: string) => void;
}

/**
 * Runs the installer of an upgrade and resolves with its exit code. It knows the configuration as the new version reads it,
 * and the version of the running system (talos: cmd/installer/cmd/installer/install.go, pkg/install/preflight.go).
 */
export async function runUpgradeInstaller(node: TalosNode, { system, print, sleep }: InstallerRun): Promise<number> {
  const minor = talosMinorOf(system.version);
  const failed = (message: string, code: number): number => {
    print(`Error: ${message}`);
    return minor >= 14 ? code : 1;
  };
  print(`running Talos installer v${system.version}`);
  const invalid = configProblem(node, minor);
  if (invalid !== undefined) return failed(invalid, exitCodes.invalidInput);
  print(`running pre-flight checks\nhost Talos version: v${node.image.version}`);
  const incompatible = versionProblem(node.image.version, system.version);
  if (incompatible !== undefined) return failed(`pre-flight checks failed: ${incompatible}`, exitCodes.environment);
  print('all pre-flight checks successful');
  await sleep(timings.installer);
  const fault = node.world.switchboard.pass('talos', 'installer', { node: node.machine.name, image: system.version });
  if (fault) return failed('failed to install the boot loader: no space left on device', exitCodes.install);
  writeOtherSlot(node, { ...system, arch: node.image.arch });
  print('installation of the boot loader complete');
  return 0;
}

/** Since Talos 1.14; before, every failure is 1 (talos: pkg/machinery/constants/constants.go). */
const exitCodes = { invalidInput: 2, environment: 4, install: 7 } as const;

function configProblem(node: TalosNode, minor: number): string | undefined {
  const text = node.config?.source.text;
  if (text === undefined) return undefined;
  try {
    const { errors } = validateAsClient(decodeConfig(text, minor), { ...validationContext(node), minor });
    return errors.length > 0 ? `machine configuration is invalid: ${errorList(errors)}` : undefined;
  } catch (error) {
    if (error instanceof ConfigError) return `error loading machine configuration: ${error.message}`;
    throw error;
  }
}

/** A version can be installed over the two minors before it and over the next one (talos: pkg/machinery/compatibility). */
function versionProblem(host: string, target: string): string | undefined {
  const difference = talosMinorOf(target) - talosMinorOf(host);
  if (difference > 2) return `host version ${host} is too old to upgrade to Talos ${target}`;
  if (difference < -1) return `host version ${host} is too new to downgrade to Talos ${target}`;
  return undefined;
}
