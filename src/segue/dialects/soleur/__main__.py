from segue.dialects.soleur import main

main()
