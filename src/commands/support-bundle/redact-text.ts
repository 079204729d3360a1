/** What replaces a value. The names of the rules are in the manifest of a bundle. */
export const hiddenTexts = {
  ...{ secret: '(secret)', random: '(random text)', notShown: '(not shown)' },
  certificate: '(certificate)',
} as const;

interface TextRule {
  readonly about: string;
  readonly pattern: RegExp;
  /** `$1` is kept. */
  readonly by: string;
}

/**
 * In this order. They hide values by their form, wherever they are, and prefer to hide too much. No pattern has nested
 * repetitions: texts come from tenants.
 */
const textRules: readonly TextRule[] = [
  {
    about: 'private keys',
    pattern: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g,
    by: hiddenTexts.secret,
  },
  {
    about: 'certificates, which are no secrets and look like some',
    pattern: /-----BEGIN CERTIFICATE-----[\s\S]*?(?:-----END CERTIFICATE-----|$)/g,
    by: hiddenTexts.certificate,
  },
  { about: 'PEM in Base64', pattern: /LS0tLS1CRUdJTi[A-Za-z0-9+/=_-]*/g, by: hiddenTexts.secret },
  { about: 'JSON Web Tokens', pattern: /eyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g, by: hiddenTexts.secret },
  { about: 'identities of age', pattern: /AGE-SECRET-KEY-[A-Z0-9]*/gi, by: hiddenTexts.secret },
  { about: 'tokens of Kubernetes and Talos', pattern: /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, by: hiddenTexts.secret },
  { about: 'logins in URLs', pattern: /(:\/\/)[^/\s"']{1,512}@/g, by: `$1${hiddenTexts.secret}@` },
  { about: 'headers', pattern: /\b(Bearer|Basic)\s+[^\s"',]{4,}/gi, by: `$1 ${hiddenTexts.secret}` },
  {
    about: 'values after a name such as password or token, with = or as JSON',
    pattern:
      /((?:secret|token|passw|passphrase|api_?key|private_?key|credential|auth_?key)[\w.-]{0,64}\\?["']?(?:=|["']\s?:\s?)\\?["']?)[^\s"'&,;}\\]+/gi,
    by: `$1${hiddenTexts.secret}`,
  },
  { about: 'values after passw…:', pattern: /(passw[a-z]{0,16}:\s?)[^\s"',;}]+/gi, by: `$1${hiddenTexts.secret}` },
];

export const textRuleNames: readonly string[] = [...textRules.map(({ about }) => about), 'long random texts'];

/** From this length on, letters of both cases and digits in one word are more likely a key than a name. */
const randomPattern = /[A-Za-z0-9+/_=-]{32,}/g;
const minOfEach = 3;
/** One in forty keys of 32 bytes has fewer digits. Names in mixed case have few capital letters. */
const minShareOfEachCase = 0.2;

const countOf = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** A key in Base64 or one of letters and digits. A name, a UUID and a hash in hexadecimal are not. */
function isRandom(word: string): boolean {
  const [lower = 0, upper = 0, digits = 0] = [/[a-z]/g, /[A-Z]/g, /[0-9]/g].map((pattern) => countOf(word, pattern));
  const rarer = Math.min(lower, upper);
  return rarer >= minOfEach && (digits >= minOfEach || rarer >= word.length * minShareOfEachCase);
}

/** A text without what looks like a secret, and how many values were hidden. */
export function redactText(text: string): { readonly text: string; readonly hidden: number } {
  let hidden = 0;
  let rest = text;
  for (const { pattern, by } of textRules)
    rest = rest.replace(pattern, (...match) => {
      hidden += 1;
      return by.replace('$1', () => String(match[1]));
    });
  rest = rest.replace(randomPattern, (word) => {
    if (!isRandom(word)) return word;
    hidden += 1;
    return hiddenTexts.random;
  });
  return { text: rest, hidden };
}
