/**
 * The rules for names, labels and annotations (`apimachinery: pkg/util/validation/validation.go`) and their messages.
 */

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
const qualifiedName = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const anchored = (pattern: string): RegExp => new RegExp(`^(${pattern})$`);
const tooLong = (max: number): string => `must be no more than ${max} bytes`;
const regexError = (words: string, pattern: string, ...examples: string[]): string =>
  `${words} (e.g. ${examples.map((e) => `'${e}'`).join(',  or ')}, regex used for validation is '${pattern}')`;

const patternProblems = (
  text: string,
  max: number,
  pattern: string,
  words: string,
  ...examples: string[]
): string[] => [
  ...(text.length > max ? [tooLong(max)] : []),
  ...(anchored(pattern).test(text) ? [] : [regexError(words, pattern, ...examples)]),
];

export const dnsSubdomainProblems = (text: string): string[] =>
  patternProblems(
    text,
    253,
    subdomain,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
    'example.com',
  );

export const dnsLabelProblems = (text: string): string[] => {
  const isSubdomain = text.length <= 63 && text.includes('.') && dnsSubdomainProblems(text).length === 0;
  return isSubdomain ? ['must not contain dots'] : strictLabelProblems(text);
};

const strictLabelProblems = (text: string): string[] =>
  patternProblems(
    text,
    63,
    label,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
    'my-name',
    '123-abc',
  );

export const dns1035LabelProblems = (text: string): string[] =>
  patternProblems(
    text,
    63,
    '[a-z]([-a-z0-9]*[a-z0-9])?',
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
    'my-name',
    'abc-123',
  );

/** RBAC names may have any characters that are valid in a path. */
export const pathSegmentProblems = (text: string): string[] => {
  if (text === '.' || text === '..') return [`may not be '${text}'`];
  return ['/', '%'].filter((bad) => text.includes(bad)).map((bad) => `may not contain '${bad}'`);
};

export const labelValueProblems = (text: string): string[] =>
  patternProblems(
    text,
    63,
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?',
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    'MyValue',
    'my_value',
    '12345',
  );

export const configKeyProblems = (text: string): string[] => {
  const problems = patternProblems(
    text,
    253,
    '[-._a-zA-Z0-9]+',
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    'key.name',
    'KEY_NAME',
    'key-name',
  );
  return text === '.' || text === '..' ? [...problems, `must not be '${text}'`] : problems;
};

const qualifiedNameError = regexError(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  qualifiedName,
  'MyName',
  'my.name',
  '123-abc',
);

/** Keys of labels and annotations, and names of finalizers. */
export function qualifiedNameProblems(text: string): string[] {
  const parts = text.split('/');
  if (parts.length > 2) {
    return [
      `a qualified name ${qualifiedNameError} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const [prefix, name = ''] = parts.length === 2 ? parts : [undefined, parts[0]];
  const problems: string[] = [];
  if (prefix === '') problems.push('prefix part must be non-empty');
  else if (prefix) problems.push(...dnsSubdomainProblems(prefix).map((problem) => `prefix part ${problem}`));
  if (name === '') problems.push('name part must be non-empty');
  else if (name.length > 63) problems.push(`name part ${tooLong(63)}`);
  if (!anchored(qualifiedName).test(name)) problems.push(`name part ${qualifiedNameError}`);
  return problems;
}

const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Five characters of the alphabet of `generateName`. */
export const randomSuffix = (): string =>
  Array.from({ length: 5 }, () => alphabet[Math.floor(Math.random() * alphabet.length)]).join('');
