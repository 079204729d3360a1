import { parse } from 'yaml';
import { type CommandOutput, outputSchemas } from '../../src/commands/output/output-schemas.ts';

/** What a command has printed with `--output json` or `yaml`, if its fields are exactly those of the documentation. */
export const readOutput = <C extends keyof typeof outputSchemas>(command: C, text: string): CommandOutput<C> =>
  outputSchemas[command].parse(parse(text)) as CommandOutput<C>;
