import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { exampleNodesOf } from '../../../test/support/arbitrary/example-nodes.ts';
import { extremeProviderConfigs } from '../../../test/support/arbitrary/extreme-provider-configs.ts';
import { propertyParameters } from '../../../test/support/arbitrary/property-parameters.ts';
import {
  anyProviderConfig,
  offlineDhcpEnvironment,
  type RawProviderConfigSpec,
} from '../../../test/support/arbitrary/provider-config.ts';
import { usedFieldsOf } from '../../../test/support/arbitrary/used-fields.ts';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import {
  describeWithTalosctl,
  missingTalosctlFor,
  runTalosctl,
  talosctlFor,
  type ValidationRequest,
  validateAllWithTalosctl,
} from '../../../test/talos/talosctl.ts';
import { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { listConfigChanges } from '../../talos/config/compare/config-changes.ts';
import { renderMachineConfig } from '../../talos/config/machine-config.ts';
import type { SecretsBundle } from '../../talos/secrets/secrets-bundle.ts';
import { describeNodeConfig } from './node-config.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});

const modes = ['metal', 'cloud'] as const;

interface Document {
  readonly raw: RawProviderConfigSpec;
  readonly role: string;
  /** The Talos minor version of the document. */
  readonly form: string;
  readonly config: string;
}

type Question = Document & Pick<ValidationRequest, 'mode'>;

/** The configuration of one node of each kind: a control plane, and a worker of each pool. */
function documentsOf(raw: RawProviderConfigSpec): Document[] {
  const spec = ProviderConfigSpec.parse(raw);
  const form = spec.talos.version.replace(/\.\d+$/, '');
  return exampleNodesOf(spec).map((node) => ({
    raw,
    form,
    role: node.machine.role,
    config: renderMachineConfig(describeNodeConfig({ spec, bundle, trust: [], ...node })).reveal(),
  }));
}

/** Counts each option in each form and mode. */
class Coverage {
  readonly #counts = new Map<string, number>();
  readonly options = new Set<string>();

  add({ raw, form }: Document, mode: string): void {
    for (const option of usedFieldsOf(raw)) {
      this.options.add(option);
      const key = `${option} in ${form} ${mode}`;
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    }
  }

  /** The options that never occurred, and the lowest count of the others. */
  summary(): { missing: string[]; least: number } {
    const all = [...this.options].flatMap((option) =>
      ['1.12', '1.13', '1.14'].flatMap((form) => modes.map((mode) => `${option} in ${form} ${mode}`)),
    );
    const missing = all.filter((key) => !this.#counts.has(key));
    return { missing, least: missing.length > 0 ? 0 : Math.min(...this.#counts.values()) };
  }
}

describeWithTalosctl(() => {
  if (talosctlFor('1.14') === undefined) it.skip(`documents of Talos 1.14: ${missingTalosctlFor('1.14')}`, () => {});

  const inBothModes = (raw: RawProviderConfigSpec): Question[] =>
    documentsOf(raw).flatMap((document) => modes.map((mode) => ({ ...document, mode })));

  /** One control plane and one worker, each in one of the modes in turn: each document costs a start of the program. */
  function pick(raw: RawProviderConfigSpec, turn: number): Question[] {
    const [controlPlane, ...workers] = documentsOf(raw);
    const worker = workers[turn % Math.max(workers.length, 1)];
    return [controlPlane, worker].flatMap((document, i) =>
      document ? [{ ...document, mode: modes[(turn + i) % 2] ?? 'metal' }] : [],
    );
  }

  /** The output of talosctl for each document; empty for documents without a matching talosctl. */
  async function judge(documents: readonly Question[]): Promise<string[]> {
    const asked = documents.flatMap((document) => {
      const binary = talosctlFor(document.form);
      return binary === undefined ? [] : [{ document, judgement: { binary, ...document } }];
    });
    const message = await validateAllWithTalosctl(asked.map(({ judgement: assessment }) => assessment));
    const answers = new Map(asked.map(({ document }, i) => [document, message[i] ?? '']));
    return documents.map((document) => answers.get(document) ?? '');
  }

  it('every document is valid, of 200 generated ProviderConfigs and with every option in every form and mode', async () => {
    const parameters = propertyParameters('documents for talosctl', 200);
    const generated = fc.sample(anyProviderConfig(offlineDhcpEnvironment), parameters);
    const extremes = extremeProviderConfigs();
    const documents = [...extremes.flatMap(inBothModes), ...generated.flatMap(pick)];
    const began = performance.now();
    const answers = await judge(documents);
    const seconds = Math.round((performance.now() - began) / 1000);
    const coverage = new Coverage();
    for (const document of documents) coverage.add(document, document.mode);
    const { missing, least } = coverage.summary();
    process.stdout.write(
      ` ${documents.length} documents of ${extremes.length + generated.length} ProviderConfigs in ${seconds} s: ${coverage.options.size} options, each at least ${least} times in each of 3 forms and 2 modes\n`,
    );
    if (answers.some((answer) => answer !== '')) await shrink(parameters);
    expect(answers.flatMap((answer, i) => (answer === '' ? [] : [{ answer, ...documents[i] }]))).toEqual([]);
    expect(missing).toEqual([]);
  }, 180_000);

  it('no document is changed by an edit with talosctl, which writes it anew, of 40 generated ProviderConfigs', async () => {
    const parameters = propertyParameters('documents that talosctl writes', 40);
    const generated = fc.sample(anyProviderConfig(offlineDhcpEnvironment), parameters);
    const documents = [...extremeProviderConfigs(), ...generated].flatMap(documentsOf);
    const changes = documents.flatMap(({ form, role, config }) => {
      const binary = talosctlFor(form);
      if (binary === undefined) return [];
      const args = ['machineconfig', 'patch', 'config.yaml', '--patch', 'machine: {}'];
      const written = runTalosctl(binary, args, { 'config.yaml': config });
      expect(written).not.toBe(config);
      const found = listConfigChanges(new SecretString(written), new SecretString(config));
      return found.map(({ field }) => `${form} ${role} ${field}`);
    });
    expect([...new Set(changes)]).toEqual([]);
  }, 180_000);

  /** Finds the smallest ProviderConfig whose documents are rejected. */
  const shrink = (parameters: ReturnType<typeof propertyParameters>): Promise<void> =>
    fc.assert(
      fc.asyncProperty(anyProviderConfig(offlineDhcpEnvironment), async (raw) => {
        expect((await judge(inBothModes(raw))).filter((answer) => answer !== '')).toEqual([]);
      }),
      parameters,
    );
});
