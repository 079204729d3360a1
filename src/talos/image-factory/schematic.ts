import type { Schematic } from '../../engine/node.ts';

/**
 * A schematic in the factory's canonical form: keys in a fixed order, four spaces, no empty values, lists in the given
 * order (image-factory: `pkg/schematic/schematic.go`). The id is the hash of exactly these bytes.
 */
export function formatCanonicalSchematic({ extensions, kernelArguments }: Schematic): string {
  const lines = [
    ...(kernelArguments.length > 0 ? ['    extraKernelArgs:', ...listLines(kernelArguments, 8)] : []),
    ...(extensions.length > 0
      ? ['    systemExtensions:', '        officialExtensions:', ...listLines(extensions, 12)]
      : []),
  ];
  return lines.length === 0 ? 'customization: {}\n' : `customization:\n${lines.join('\n')}\n`;
}

/** Whether the parsed schematic of a factory equals the requested one. An owner that the factory added is ignored. */
export function isSameSchematic(parsed: unknown, schematic: Schematic): boolean {
  const at = (value: unknown, key: string) =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  const customization = at(parsed, 'customization');
  const extensions = at(at(customization, 'systemExtensions'), 'officialExtensions') ?? [];
  const kernelArguments = at(customization, 'extraKernelArgs') ?? [];
  return (
    JSON.stringify([extensions, kernelArguments]) === JSON.stringify([schematic.extensions, schematic.kernelArguments])
  );
}

const listLines = (items: readonly string[], indent: number): string[] =>
  items.map((item) => `${' '.repeat(indent)}- ${formatScalar(item)}`);

/** Words and forms that YAML 1.1 does not parse as a string: Go's emitter writes them in double quotes. */
const ambiguousPatterns = [
  /^(?:~|null|Null|NULL|true|True|TRUE|false|False|FALSE|y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF|<<)$/,
  /^[-+]?\.(?:inf|Inf|INF)$/,
  /^\.(?:nan|NaN|NAN)$/,
  /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/,
  /^\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]| +)\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:Z|[-+]\d{2}:\d{2})?)?$/,
];
const numberPattern = /^[-+]?(?:0b[01]+|0o[0-7]+|0x[0-9a-fA-F]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)$/;

/** A number may contain underscores, except after a leading point, and must be a valid float64. */
function readsAsNumber(text: string): boolean {
  if (!/^[-+.0-9]/.test(text)) return false;
  const digits = text.startsWith('.') ? text : text.replaceAll('_', '');
  return numberPattern.test(digits) && Number.isFinite(Number.parseFloat(digits));
}

/** The start of a plain scalar. An indicator is allowed when another character follows; document markers are not. */
const plainStartPattern = /^(?!---|\.\.\.)(?:[^\s\-?:,[\]{}#&*!|>'"%@`]|[-?:]\S)/;
const printable = /^[\x20-\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/;

/**
 * Writes one text as Go's YAML emitter does, as far as kernel arguments need it. In the rare case of a difference the
 * content of the factory's response is compared.
 */
function formatScalar(text: string): string {
  if (
    text === '' ||
    ambiguousPatterns.some((pattern) => pattern.test(text)) ||
    readsAsNumber(text) ||
    !printable.test(text)
  )
    return JSON.stringify(text);
  const plain = plainStartPattern.test(text) && !/: |:$| #|\s$/.test(text);
  return plain ? text : `'${text.replaceAll("'", "''")}'`;
}
