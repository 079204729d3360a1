import { ApplyConfigurationRequest_Mode as Mode } from '../../../src/talos/gen/machine_pb.ts';
import { validationContext } from './acquire.ts';
import { denied, invalid, plain, tooEarly, unimplemented } from './api/errors.ts';
import { decodeConfig, type MachineConfig } from './config/decode.ts';
import { diffLines } from './config/diff.ts';
import { ConfigError, errorList } from './config/error.ts';
import { needsReboot } from './config/immediate.ts';
import { validateConfig } from './config/validate.ts';
import { readPartition, writePartition } from './disk.ts';
import type { ActiveConfig, Node } from './node.ts';
import { publish } from './publish.ts';
import { startReboot } from './sequences.ts';

export interface ApplyRequest {
  readonly text: string;
  readonly mode: number;
  readonly dryRun: boolean;
  readonly trySeconds: number;
  /** The caller is an administrator; in maintenance mode nobody is, and everybody may. */
  readonly admin: boolean;
}

export interface ApplyAnswer {
  readonly mode: number;
  readonly details: string;
  readonly warnings: readonly string[];
}

/** `ApplyConfiguration` (talos: internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go). */
export function applyConfig(node: Node, request: ApplyRequest, onConfig: () => void): ApplyAnswer {
  const maintenance = node.config === undefined;
  if (!maintenance && !request.admin) throw denied();
  if (node.awaitsReboot) {
    throw tooEarly(
      'configuration was already applied and node is rebooting, cannot apply more configuration changes until next reboot',
    );
  }
  refuseModes(node, request.mode, maintenance);
  // Even if it is refused or only looked at: what was on trial stays then.
  if (request.mode !== Mode.TRY) endTrial(node);
  const config = decode(node, request.text);
  if (!maintenance && !config.legacy) {
    throw invalid(
      "the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch the machine config instead?",
    );
  }
  const { errors, warnings } = validateConfig(config, validationContext(node));
  if (errors.length > 0) throw invalid(errorList(errors));
  const effective = effectiveMode(node, config, request.mode);
  if (request.dryRun) {
    const changes = diffLines(node.config?.source.text ?? '', request.text) || 'No changes.';
    return {
      ...effective,
      warnings: [],
      details: `Dry run summary:\n${effective.details} (skipped in dry-run).\nConfig diff:\n\n${changes}`,
    };
  }
  return { ...carryOut(node, request, effective, onConfig), warnings };
}

function refuseModes(node: Node, mode: number, maintenance: boolean): void {
  if (node.minor >= 14 && !maintenance && mode === Mode.REBOOT) {
    throw unimplemented('REBOOT mode is not supported, use NO_REBOOT and reboot the node');
  }
  if (node.minor <= 12 && maintenance && (mode === Mode.NO_REBOOT || mode === Mode.STAGED)) {
    throw unimplemented('apply configuration mode is not supported in maintenance mode');
  }
}

function decode(node: Node, text: string): MachineConfig {
  try {
    return decodeConfig(text, node.minor);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // The service of its own that maintenance mode was until Talos 1.12 gives this no code.
    if (node.minor <= 12 && !node.config) throw plain(`failed to parse config: ${error.message}`);
    throw invalid(error.message);
  }
}

function effectiveMode(node: Node, config: MachineConfig, asked: number): Omit<ApplyAnswer, 'warnings'> {
  const reason = node.config && node.minor < 14 ? needsReboot(node.config.source, config) : undefined;
  const without = { mode: Mode.NO_REBOOT, details: 'Applied configuration without a reboot' };
  if (!node.config && asked === Mode.REBOOT) return without;
  if (asked === Mode.TRY || asked === Mode.NO_REBOOT) {
    if (reason !== undefined) throw invalid(reason);
    return { ...without, mode: asked };
  }
  if (asked === Mode.STAGED)
    return { mode: asked, details: 'Staged configuration to be applied after the next reboot' };
  if (asked === Mode.AUTO && reason === undefined) return without;
  const suffix = asked === Mode.AUTO && reason !== undefined ? `: ${reason}` : '';
  return { mode: Mode.REBOOT, details: `Applied configuration with a reboot${suffix}` };
}

function carryOut(
  node: Node,
  request: ApplyRequest,
  effective: Omit<ApplyAnswer, 'warnings'>,
  onConfig: () => void,
): Omit<ApplyAnswer, 'warnings'> {
  const maintenance = node.config === undefined;
  if (effective.mode !== Mode.TRY) persist(node, request.text);
  if (effective.mode === Mode.TRY) {
    rollBackLater(node, request.trySeconds);
    activate(node, request.text);
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
    activate(node, request.text);
    if (maintenance && node.config?.source.legacy) onConfig();
  }
  return effective;
}

function activate(node: Node, text: string): void {
  node.setConfig(text);
  if (node.config && !node.config.source.legacy) node.config = undefined;
  publish(node);
}

function persist(node: Node, text: string): void {
  node.persisted = text;
  const disk = node.systemDisk;
  const state = disk ? readPartition(disk, 'STATE') : undefined;
  if (disk && node.config) writePartition(disk, 'STATE', { nodeId: state?.nodeId ?? node.nodeId, config: text });
}

/**
 * What was active before a TRY comes back by itself, be it on trial too. Out of maintenance mode there is nothing to go
 * back to (talos: v1alpha1_runtime.go, RollbackToConfigAfter).
 */
function rollBackLater(node: Node, seconds: number): void {
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
    if (before) activate(node, before.source.text);
  });
}

function endTrial(node: Node): void {
  node.trial?.abort();
  node.trial = undefined;
}

/** `1m0s` of 60, as Go prints durations. */
function goDuration(seconds: number): string {
  const hours = seconds >= 3600 ? `${Math.floor(seconds / 3600)}h` : '';
  const minutes = seconds >= 60 ? `${Math.floor((seconds % 3600) / 60)}m` : '';
  return `${hours}${minutes}${seconds % 60}s`;
}
