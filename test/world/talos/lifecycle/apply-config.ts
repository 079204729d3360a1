import { ApplyConfigurationRequest_Mode as Mode } from '../../../../src/talos/gen/machine_pb.ts';
import {
  failedPreconditionError,
  invalidArgumentError,
  permissionDeniedError,
  unimplementedError,
  unknownError,
} from '../api/errors.ts';
import { applyLinks, validationContext } from '../boot/acquire-config.ts';
import { readPartition, writePartition } from '../boot/disk-partitions.ts';
import { ConfigError, errorList } from '../config/config-error.ts';
import { decodeConfig, type MachineConfig } from '../config/decode-config.ts';
import { diffLines } from '../config/diff.ts';
import { rebootReason } from '../config/needs-reboot.ts';
import { validateConfig } from '../config/validate-config.ts';
import type { ActiveConfig, TalosNode } from '../node.ts';
import { publishResources } from '../state/publish-resources.ts';
import { startReboot } from './sequences.ts';

export interface ApplyRequest {
  readonly text: string;
  readonly mode: number;
  readonly dryRun: boolean;
  readonly trySeconds: number;
  /** The caller is an administrator; in maintenance mode there is none, and every caller may apply. */
  readonly admin: boolean;
}

export interface ApplyResult {
  readonly mode: number;
  readonly details: string;
  readonly warnings: readonly string[];
}

/** `ApplyConfiguration` (talos: internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go). */
export function applyMachineConfig(node: TalosNode, request: ApplyRequest, onConfig: () => void): ApplyResult {
  const maintenance = node.config === undefined;
  if (!maintenance && !request.admin) throw permissionDeniedError();
  if (node.awaitsReboot) {
    throw failedPreconditionError(
      'configuration was already applied and node is rebooting, cannot apply more configuration changes until next reboot',
    );
  }
  checkMode(node, request.mode, maintenance);
  // A refused configuration and a dry run also keep the configuration that is on trial.
  if (request.mode !== Mode.TRY) endTrial(node);
  const config = decode(node, request.text);
  if (!maintenance && !config.legacy) {
    throw invalidArgumentError(
      "the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch the machine config instead?",
    );
  }
  const { errors, warnings } = validateConfig(config, validationContext(node));
  if (errors.length > 0) throw invalidArgumentError(errorList(errors));
  const { reason, ...effective } = effectiveMode(node, config, request.mode);
  if (request.dryRun) {
    const changes = diffLines(node.config?.source.text ?? '', request.text) || 'No changes.';
    return {
      ...effective,
      warnings: [],
      details: `Dry run summary:\n${effective.details} (skipped in dry-run).\nConfig diff:\n\n${changes}`,
    };
  }
  const applied = applyInMode(node, request, effective, onConfig);
  publishResources(node);
  return { ...applied, details: `${applied.details}${reason === undefined ? '' : `: ${reason}`}`, warnings };
}

function checkMode(node: TalosNode, mode: number, maintenance: boolean): void {
  if (node.minor >= 14 && !maintenance && mode === Mode.REBOOT) {
    throw unimplementedError('the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead');
  }
  if (node.minor <= 12 && maintenance && (mode === Mode.NO_REBOOT || mode === Mode.STAGED)) {
    throw unimplementedError('apply configuration mode is not supported in maintenance mode');
  }
}

function decode(node: TalosNode, text: string): MachineConfig {
  try {
    return decodeConfig(text, node.minor);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // The maintenance service until Talos 1.12 returns this error without a code.
    if (node.minor <= 12 && !node.config) throw unknownError(`failed to parse config: ${error.message}`);
    throw invalidArgumentError(error.message);
  }
}

/** The mode in which the configuration is applied; `reason`: why AUTO reboots. */
interface EffectiveMode extends Omit<ApplyResult, 'warnings'> {
  readonly reason?: string;
}

function effectiveMode(node: TalosNode, config: MachineConfig, asked: number): EffectiveMode {
  const reason = node.config && node.minor < 14 ? rebootReason(node.config.source, config) : undefined;
  const without = { mode: Mode.NO_REBOOT, details: 'Applied configuration without a reboot' };
  if (!node.config && asked === Mode.REBOOT) return without;
  if (asked === Mode.TRY || asked === Mode.NO_REBOOT) {
    if (reason !== undefined) throw invalidArgumentError(reason);
    return { ...without, mode: asked };
  }
  if (asked === Mode.STAGED)
    return { mode: asked, details: 'Staged configuration to be applied after the next reboot' };
  if (asked === Mode.AUTO && reason === undefined) return without;
  const reboot = { mode: Mode.REBOOT, details: 'Applied configuration with a reboot' };
  return asked === Mode.AUTO && reason !== undefined ? { ...reboot, reason } : reboot;
}

function applyInMode(
  node: TalosNode,
  request: ApplyRequest,
  effective: Omit<ApplyResult, 'warnings'>,
  onConfig: () => void,
): Omit<ApplyResult, 'warnings'> {
  const maintenance = node.config === undefined;
  if (effective.mode !== Mode.TRY) persistConfig(node, request.text);
  if (effective.mode === Mode.TRY) {
    rollBackLater(node, request.trySeconds);
    activateConfig(node, request.text);
    if (maintenance && node.config?.source.legacy) onConfig();
    return {
      ...effective,
      details: `${effective.details}\nThe config is applied in 'try' mode and will be automatically reverted back in ${goDuration(request.trySeconds)}`,
    };
  }
  if (effective.mode === Mode.REBOOT) {
    node.awaitsReboot = true;
    startReboot(node, { takesOver: true });
  } else if (effective.mode === Mode.NO_REBOOT) {
    activateConfig(node, request.text);
    if (maintenance && node.config?.source.legacy) onConfig();
  }
  return effective;
}

/** A running node changes its links at once; the simulator goes on listening where it did. */
function activateConfig(node: TalosNode, text: string): void {
  const isConfigured = node.config !== undefined;
  node.setConfig(text);
  if (isConfigured) applyLinks(node);
  if (node.config && !node.config.source.legacy) node.config = undefined;
  publishResources(node);
}

function persistConfig(node: TalosNode, text: string): void {
  node.persisted = text;
  const disk = node.systemDisk;
  const state = disk ? readPartition(disk, 'STATE') : undefined;
  if (disk && node.config) writePartition(disk, 'STATE', { nodeId: state?.nodeId ?? node.nodeId, config: text });
}

/**
 * The configuration before a TRY is restored automatically, also when it was on trial too. In maintenance mode there is
 * none to restore (talos: v1alpha1_runtime.go, RollbackToConfigAfter).
 */
function rollBackLater(node: TalosNode, seconds: number): void {
  const before: ActiveConfig | undefined = node.config;
  endTrial(node);
  const trial = new AbortController();
  node.trial = trial;
  node.spawn('rollback', async () => {
    const over = await node.world.clock.sleep(seconds, AbortSignal.any([trial.signal, node.signal])).then(
      () => true,
      () => false,
    );
    if (!over) return;
    node.trial = undefined;
    node.log(before ? 'rolling back the configuration' : 'config rollback failed');
    if (before) activateConfig(node, before.source.text);
  });
}

function endTrial(node: TalosNode): void {
  node.trial?.abort();
  node.trial = undefined;
}

/** `1m0s` of 60, as Go prints durations. */
function goDuration(seconds: number): string {
  const hours = seconds >= 3600 ? `${Math.floor(seconds / 3600)}h` : '';
  const minutes = seconds >= 60 ? `${Math.floor((seconds % 3600) / 60)}m` : '';
  return `${hours}${minutes}${seconds % 60}s`;
}
